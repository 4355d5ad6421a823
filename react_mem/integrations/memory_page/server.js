"use strict";

// --- what went wrong ---

const UNREACHABLE = ["network", 502, 503, 504];

class Refused extends Error {
  constructor(status, detail, { method = "GET", code = "", field = "" } = {}) {
    super(detail || String(status));
    Object.assign(this, { status, method, code, field });
  }

  // What it means, by what the server names by itself: the kind of mistake, the field, the status.
  told() {
    const keys = [`wrong_${this.code}`, `wrong_${this.status}_${this.method}_${this.field}`, `wrong_${this.status}_${this.field}`, `wrong_${this.status}`];
    return words(keys.find(key => WORDS.en[key]) ?? "wrong_other");
  }

  // The server's own words, where ours do not say it all.
  get behind() {
    return this.status === 422 || !WORDS.en[`wrong_${this.status}`] ? this.message : "";
  }
}

const isOver = error => error.name === "AbortError";
const unreachable = error => error instanceof Refused && UNREACHABLE.includes(error.status);
const meaning = error => (error instanceof Refused ? error.told() : words("wrong_other"));

// What went wrong, and a way to try again, which is gone by itself once the server is there again.
function wrong(error, again) {
  if (isOver(error)) return "";
  if (!(error instanceof Refused)) console.error(error);
  const box = make("div", { class: "wrong", role: "alert" }, make("p", {}, meaning(error)), behind(error.behind),
    again && make("div", { class: "actions" }, button("again", again)));
  if (unreachable(error)) whenReached(() => { if (box.isConnected) { if (again) again(); else box.remove(); } });
  return box;
}

// Words of the server, which are English, for whoever looks for them.
function behind(text) {
  return text && make("details", { class: "behind" }, make("summary", {}, words("serverSays")), make("p", { lang: "en" }, short(text, 600)));
}

// --- a server that is not there ---

const stalled = new Set();

// Do something once the server is there again.
function whenReached(act) {
  stalled.add(act);
  return () => stalled.delete(act);
}

function reached() {
  const acts = [...stalled];
  stalled.clear();
  for (const act of acts) act();
}

// --- asking it ---

// Whoever is at the page: what is asked for one person is never told another.
let visitor = new AbortController(), served = false;

const abandoned = () => new DOMException("somebody else is at the page", "AbortError");

function addressOf(path, query = {}, user = kept(sessionStorage, USER_KEY)) {
  const address = new URL(`v1/${path}`, new URL("./", document.baseURI));
  for (const [name, value] of Object.entries(user ? { ...query, user_id: user } : query))
    for (const one of [value].flat()) if (one !== undefined && one !== "") address.searchParams.append(name, one);
  return address;
}

// The answer of the server, as it is; it is asked again when the same person has said who they are.
async function send(path, { method = "GET", query, body, match, signal, silent } = {}) {
  const own = visitor;
  for (;;) {
    const headers = {};
    const token = kept(sessionStorage, TOKEN_KEY);
    if (token) headers.authorization = `Bearer ${token}`;
    if (body) headers["content-type"] = "application/json";
    if (match) headers["if-match"] = /^(W\/)?"/.test(match) ? match : `"${match}"`;
    let answer;
    try {
      answer = await fetch(addressOf(path, query), { method, headers, body: body && JSON.stringify(body), cache: "no-cache",
        signal: signal ? AbortSignal.any([signal, own.signal]) : own.signal });
    } catch (error) {
      if (isOver(error)) throw error;
      throw new Refused("network", String(error.message));
    }
    if (answer.ok) { served = true; return answer; }
    const told = await answer.json().catch(() => ({}));
    if (own !== visitor) throw abandoned();
    const asks = answer.status === 401 ? "token" : answer.status === 404 && /^no user is named/.test(told.detail) ? "user" : "";
    if (asks === "token") { unfollow(); alive("off"); }
    if (asks && !silent && await identify(asks === "user" ? "whoNobody" : whyRefused(token), asks)) {
      if (own !== visitor) throw abandoned();
      continue;
    }
    if (own !== visitor) throw abandoned();
    const [first] = Array.isArray(told.detail) ? told.detail : [];
    throw new Refused(answer.status, first ? told.detail.map(one => one.msg).join("; ") : told.detail,
      { method, code: first?.type, field: first?.loc?.at(-1) });
  }
}

const ask = async (path, options) => (await send(path, options)).json();

// --- views ---

// Put into a place what is on its way, or what went wrong on it.
async function fill(place, coming, again) {
  place.setAttribute("aria-busy", "true");
  const at = place.contains(document.activeElement);
  try {
    place.replaceChildren(...[await coming()].flat(3).filter(one => one || one === 0));
  } catch (error) {
    if (!isOver(error)) place.replaceChildren(wrong(error, again ?? (() => fill(place, coming))));
  } finally {
    place.removeAttribute("aria-busy");
    if (at && unfocused()) focusOn(place);
  }
}
