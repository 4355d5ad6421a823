"use strict";

const byId = id => document.getElementById(id);

// An element. What is text becomes text: nothing that anybody wrote is ever read as markup.
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter(child => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

const button = (key, act, kind = "") => make("button", { type: "button", class: kind, onclick: act }, words(key));
const time = (when, text) => make("time", { datetime: when }, text ?? day(when));

// A length from 0 to 1; what it means stands in words beside it.
function bar(share) {
  const fill = make("span");
  fill.style.width = `${Math.round(100 * Math.max(0, Math.min(1, share)))}%`;
  return make("div", { class: "bar", "aria-hidden": "true" }, fill);
}

function short(text, most = 60) {
  const flat = String(text ?? "").replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

const say = text => { byId("said").textContent = text; };

// --- who asks ---

const TOKEN_KEY = "react-mem.token", USER_KEY = "react-mem.user";
let asking = null;

// Ask who it is. One dialog for everything that waits for it; false where it was left.
function identify(reason) {
  asking ??= new Promise(resolve => {
    const dialog = byId("identity");
    byId("identity-why").textContent = reason ? words(reason) : "";
    byId("token").value = kept(sessionStorage, TOKEN_KEY);
    byId("user").value = kept(sessionStorage, USER_KEY);
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      asking = null;
      if (dialog.returnValue !== "use") return resolve(false);
      keep(sessionStorage, TOKEN_KEY, byId("token").value.trim());
      keep(sessionStorage, USER_KEY, byId("user").value.trim());
      resolve(true);
      dispatchEvent(new Event("identified"));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

// --- the server ---

class Refused extends Error {
  constructor(status, detail) {
    super(detail || String(status));
    this.status = status;
  }

  // What is told: what it means, and the server's own words where they say what is wrong with a request.
  told() {
    const key = `wrong_${this.status}`;
    const known = WORDS.en[key] ? words(key) : words("wrong_other");
    return this.status === 422 || !WORDS.en[key] ? `${known} ${short(this.message, 300)}` : known;
  }
}

function addressOf(path, query = {}) {
  const address = new URL(`v1/${path}`, new URL("./", document.baseURI));
  const user = kept(sessionStorage, USER_KEY);
  for (const [name, value] of Object.entries(user ? { ...query, user_id: user } : query))
    for (const one of [value].flat()) if (one !== undefined && one !== "") address.searchParams.append(name, one);
  return address;
}

// The answer of the server, as it is; it is asked again when somebody has said who they are.
async function send(path, { method = "GET", query, body, match, signal, silent } = {}) {
  for (;;) {
    const headers = {};
    const token = kept(sessionStorage, TOKEN_KEY), user = kept(sessionStorage, USER_KEY);
    if (token) headers.authorization = `Bearer ${token}`;
    if (body) headers["content-type"] = "application/json";
    if (match) headers["if-match"] = /^(W\/)?"/.test(match) ? match : `"${match}"`;
    const sent = body && JSON.stringify(user ? { ...body, user_id: user } : body);
    let answer;
    try {
      answer = await fetch(addressOf(path, query), { method, headers, body: sent, signal, cache: "no-cache" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused("network", String(error.message));
    }
    if (answer.ok) return answer;
    if (answer.status === 401 && !silent && await identify(token ? "whoRefused" : "whoAsked")) continue;
    const told = await answer.json().catch(() => ({}));
    if (answer.status === 404 && !silent && /^no user is named/.test(told.detail) && await identify("whoNobody")) continue;
    const detail = Array.isArray(told.detail) ? told.detail.map(part => part.msg).join("; ") : told.detail;
    throw new Refused(answer.status, detail);
  }
}

const ask = async (path, options) => (await send(path, options)).json();
const part = text => encodeURIComponent(text);

// --- views ---

// What went wrong, and a way to try again.
function wrong(error, again) {
  if (error.name === "AbortError") return "";
  if (!(error instanceof Refused)) console.error(error);
  const text = error instanceof Refused ? error.told() : words("wrong_other");
  return make("div", { class: "wrong", role: "alert" },
    make("p", {}, text), again && make("div", { class: "actions" }, button("again", again)));
}

// Put into a place what is on its way, or what went wrong on it.
async function fill(place, coming, again) {
  place.setAttribute("aria-busy", "true");
  try {
    place.replaceChildren(...[await coming()].flat(3).filter(one => one || one === 0));
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(wrong(error, again ?? (() => fill(place, coming))));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

const PAGE = 50;
const MOST_RENEWED = 400;

// A list in pages: what is there, and a button for what follows; `again()` shows it as it is now. `fetchPage(cursor, limit)` gives {items, next_cursor, total}.
function paged(list, fetchPage, draw, emptyKey) {
  const foot = make("div", { class: "more" });
  let cursor;
  const drawn = item => {
    const line = draw(item);
    (line.querySelector("article") ?? line).item ??= item;
    return line;
  };
  const told = page => {
    const shown = list.childElementCount, total = Math.max(shown, page.total ?? 0);
    foot.replaceChildren(...[
      !shown && make("p", { class: "empty" }, words(emptyKey)),
      shown > 0 && make("span", {}, words("shown", { count: number(shown), total: number(total) })),
      cursor && button("more", next)].filter(Boolean));
  };
  const next = async () => {
    foot.replaceChildren(make("span", {}, words("loading")));
    try {
      const page = await fetchPage(cursor, PAGE);
      const lines = page.items.map(drawn), further = cursor !== undefined;
      list.append(...lines);
      cursor = page.next_cursor;
      told(page);
      if (further && lines[0]) { lines[0].tabIndex = -1; lines[0].focus({ preventScroll: true }); }
    } catch (error) {
      if (error.name !== "AbortError") foot.replaceChildren(wrong(error, next));
    }
  };
  // What has not changed stays as it is, and so does the order: nothing is moved away from whoever is at it.
  const again = async () => {
    const shown = list.childElementCount, fresh = [];
    let page = {};
    if (foot.querySelector(".wrong") || shown > MOST_RENEWED) return;
    do {
      page = await fetchPage(page.next_cursor, Math.min(200, Math.max(PAGE, shown - fresh.length)));
      fresh.push(...page.items);
    } while (page.next_cursor && fresh.length < shown);
    if (list.childElementCount !== shown) return;
    const lines = new Map([...list.children].map(line => [itemOf(line).id, line]));
    let before = null, added = 0;
    for (const item of fresh.reverse()) {
      let line = lines.get(item.id);
      if (line && JSON.stringify(itemOf(line)) !== JSON.stringify(item)) line = renew(line, item);
      if (!line) { line = drawn(item); list.insertBefore(line, before); added += 1; }
      lines.delete(item.id);
      before = line;
    }
    for (const line of lines.values()) if (!line.querySelector("form")) line.remove();
    cursor = page.next_cursor;
    told(page);
    if (added) say(words("added", { count: number(added) }));
  };
  const renew = (line, item) => {
    const holder = line.querySelector("article");
    if (holder?.renew) { holder.renew(item); return line; }
    const changed = drawn(item), focused = line.contains(document.activeElement);
    line.replaceWith(changed);
    if (focused) changed.querySelector("a, button")?.focus({ preventScroll: true });
    return changed;
  };
  return { foot, next, again };
}

const itemOf = line => (line.querySelector("article") ?? line).item ?? {};

function lead(titleKey, textKey) {
  return [make("h1", { tabindex: "-1" }, words(titleKey)), textKey && make("p", { class: "lead" }, words(textKey))].filter(Boolean);
}

// --- notices ---

// A line at the bottom of the page with what can be done about it; it goes by itself, never while a key could press it.
function notice(text, { actions = [], seconds = 0, then } = {}) {
  const strip = make("div", { class: "notice", role: "group", "aria-label": short(text, 120) }, make("p", {}, text));
  let timer = 0, over = false;
  // a focused button that is removed loses its focus, which must not start the wait again
  const end = act => { over = true; clearTimeout(timer); strip.remove(); if (act) act(); };
  for (const [key, act, kind] of actions) strip.append(button(key, () => end(act), kind));
  if (seconds) {
    const run = () => { timer = setTimeout(() => end(then), 1000 * seconds); };
    const left = make("span", { class: "left", "aria-hidden": "true" });
    left.style.animationDuration = `${seconds}s`;
    strip.append(left);
    strip.addEventListener("focusin", () => clearTimeout(timer));
    strip.addEventListener("focusout", event => { if (!over && !strip.contains(event.relatedTarget)) run(); });
    run();
  } else {
    strip.append(button("close", () => end(), "quiet"));
  }
  byId("notices").append(strip);
  say(text);
  return { strip, end };
}
