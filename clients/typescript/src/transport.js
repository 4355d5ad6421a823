/** Requests to a server: who asks, what is sent, and what the answers are made into. Types are in transport.d.ts. */

export class MemoryApiError extends Error {
  constructor(status, title, detail, retryAfter) {
    super(`${status} ${title}: ${inWords(detail)}`);
    this.name = "MemoryApiError";
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

export class Transport {
  #url;
  #token;
  #fetch;

  constructor(url, { token, userId, fetch = globalThis.fetch } = {}) {
    if (!/^https?:\/\//.test(url)) {
      throw new TypeError("the URL of a server begins with http:// or https://, as http://127.0.0.1:2024 does");
    }
    this.#url = url.replace(/\/+$/, "").replace(/\/memory\/v1$/, "");
    this.#token = token;
    this.#fetch = fetch;
    this.userId = userId;
  }

  async send(method, path, sent) {
    const answer = await this.#ask(method, path, sent);
    if (answer.status === 304) {
      await answer.body?.cancel();
      return null;
    }
    const text = await answer.text();
    let read;
    try {
      read = JSON.parse(text);
    } catch {
      throw new MemoryApiError(answer.status, "Unreadable Answer", "the answer is no JSON");
    }
    // not listed: what is written of an answer is what the server said
    return Object.defineProperty(read, "etag", { value: answer.headers.get("etag") ?? "" });
  }

  async stream(method, path, sent) {
    return this.#ask(method, path, sent);
  }

  async #ask(method, path, { query = {}, body, headers = {}, signal }) {
    const url = new URL(this.#url + path);
    for (const [name, value] of given(query)) {
      for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
    }
    const sent = new Headers(given(headers));
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token) sent.set("authorization", `Bearer ${token}`);
    if (body) sent.set("content-type", "application/json");
    const ask = this.#fetch;
    const answer = await ask(url, {
      method,
      headers: sent,
      body: body && JSON.stringify(Object.fromEntries(given(body))),
      // a token is for this server, and not for where it points
      redirect: "manual",
      signal,
    });
    if (!answer.ok && answer.status !== 304) throw await refusal(answer);
    return answer;
  }
}

export async function* itemsOf(turn) {
  let cursor;
  do {
    const page = await turn(cursor);
    yield* page.items;
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
}

export async function* textOf(answer) {
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      yield decoder.decode(part.value, { stream: true });
    }
    yield decoder.decode();
  } finally {
    // whoever stops reading closes the stream
    await reader.cancel();
  }
}

export async function* eventsOf(answer) {
  let event = "message";
  let data = [];
  let id = "";
  for await (const line of linesOf(answer)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (line === "") {
      if (data.length) yield { event, data: JSON.parse(data.join("\n")), id };
      event = "message";
      data = [];
    }
  }
}

async function* linesOf(answer) {
  let rest = "";
  for await (const text of textOf(answer)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    yield* lines.map((line) => line.replace(/\r$/, ""));
  }
}

export function segment(value) {
  if (["", ".", ".."].includes(value)) throw new TypeError(`${JSON.stringify(value)} is no id`);
  return encodeURIComponent(value);
}

export function entityTag(value) {
  return value === undefined || value === "*" || value.includes('"') ? value : `"${value}"`;
}

/** Return what a request names; everything else is left to the server. */
function given(values) {
  return Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
}

async function refusal(answer) {
  const text = await answer.text();
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    told = undefined;
  }
  if (told === null || typeof told !== "object" || Array.isArray(told)) told = { detail: text.slice(0, 500) };
  const wait = answer.headers.get("retry-after") ?? "";
  const title = String(told.title || answer.statusText || "Unknown Status");
  return new MemoryApiError(answer.status, title, told.detail ?? "", /^\d+$/.test(wait) ? Number(wait) : undefined);
}

/** Return a cause as one line: of fields that are wrong, where each is and what is wrong with it. */
function inWords(detail) {
  if (!Array.isArray(detail)) return String(detail);
  return detail.map((one) => [one?.loc?.join("."), one?.msg ?? one].filter(Boolean).join(": ")).join("; ");
}
