"use strict";

const UNDO_SECONDS = 8;
const LEFT_KEY = "react-mem.left";
const TOPICS = ["fact", "episode", "skill", "document", "knowledge", "task", "summary"];

// What will be forgotten in some seconds, by id: nothing is asked of the server before.
const doomed = new Map();

// --- forgetting, which is for good, and so waits ---

function forgetSoon(id, text, { path, match, byKey, done, spared }) {
  if (doomed.has(id)) return;
  const strip = notice(words("doomed", { text: short(text), seconds: UNDO_SECONDS }), {
    seconds: UNDO_SECONDS,
    then: () => forgetNow(id, text, { path, match, done, spared }),
    actions: [
      ["undo", () => { doomed.delete(id); say(words("kept")); spared(); }, "main"],
      ["now", () => forgetNow(id, text, { path, match, done, spared }), "danger"],
    ],
  });
  doomed.set(id, text);
  if (byKey) strip.strip.querySelector("button").focus();
}

async function forgetNow(id, text, { path, match, done, spared }) {
  say(words("forgetting", { text: short(text) }));
  try {
    const { receipt, problems } = await ask(path, { method: "DELETE", match });
    const sum = parts => Object.values(parts ?? {}).reduce((all, ids) => all + ids.length, 0);
    doomed.delete(id);
    done();
    notice(problems?.length ? words("forgottenLess", { problems: problems.join("; ") })
      : words("forgotten", { removed: number(sum(receipt?.removed)), rewritten: number(sum(receipt?.rewritten)) }),
    { seconds: problems?.length ? 0 : UNDO_SECONDS });
  } catch (error) {
    doomed.delete(id);
    spared(error);
    notice(error instanceof Refused ? (error.status === 412 ? words("changed") : error.told()) : words("wrong_other"));
  }
}

// Who leaves has not waited: nothing is forgotten, and the next visit says so.
addEventListener("pagehide", () => keep(sessionStorage, LEFT_KEY, [...doomed.values()].map(text => short(text)).join("; ")));

function tellWhatStayed() {
  const left = kept(sessionStorage, LEFT_KEY);
  keep(sessionStorage, LEFT_KEY, "");
  if (left) notice(words("leftBefore", { text: left }));
}

// --- a memory ---

const kindOf = item => item.kind || item.scope || "memory";

function metaOf(item) {
  const since = item.since ?? item.created_at;
  return make("p", { class: "meta" },
    make("span", { class: "chip" }, words(`one_${kindOf(item)}`)),
    since && time(since, words("since", { date: day(since) })),
    item.until && time(item.until, words("until", { date: day(item.until) })),
    item.origin && make("span", {}, words(`from_${item.origin}`)),
    item.in_doubt && make("span", { class: "chip warn" }, words("doubted")),
    item.current === false && make("span", { class: "chip warn" }, words("pastMark")));
}

const textOf = item => item.text || item.title || "";
const isFact = item => kindOf(item) === "fact" && item.current !== false;

// A memory as a card that can be corrected, forgotten and looked into.
function card(item, { below, open = false, gone } = {}) {
  const holder = make("article", { class: "card", "data-id": item.id });
  holder.item = item;

  const draw = (focusOn = "") => {
    const now = holder.item;
    holder.classList.toggle("past", now.current === false);
    holder.classList.toggle("doomed", doomed.has(now.id));
    const inside = make("div", { class: "more-of-it", hidden: true });
    const look = make("button", { type: "button", class: "quiet", "aria-expanded": "false", "data-act": "details" }, words("details"));
    look.addEventListener("click", () => {
      inside.hidden = !inside.hidden;
      look.setAttribute("aria-expanded", String(!inside.hidden));
      if (!inside.hidden) fill(inside, () => detailsOf(now));
    });
    const tools = make("div", { class: "actions" },
      isFact(now) && make("button", { type: "button", class: "quiet", "data-act": "edit", onclick: edit }, words("edit")),
      make("button", { type: "button", class: "quiet danger", "data-act": "forget", onclick: forget, disabled: doomed.has(now.id) },
        words("forget")),
      look);
    // which memory a button is for, where one hears it alone
    for (const tool of tools.children) tool.setAttribute("aria-label", `${tool.textContent}: ${short(textOf(now))}`);
    holder.replaceChildren(...[make("p", { class: "text" }, textOf(now) || "…"), metaOf(now), below?.(now), tools, inside].filter(Boolean));
    if (focusOn) holder.querySelector(`[data-act=${focusOn}]`)?.focus();
    return look;
  };

  const forget = event => {
    const now = holder.item;
    forgetSoon(now.id, textOf(now), {
      path: `memories/${part(now.id)}`, match: now.revision, byKey: event.detail === 0,
      done: () => { (gone ?? (() => holder.closest("li")?.remove()))(); },
      spared: error => {
        draw("forget");
        if (error?.status === 412) renew(holder);
        if (error?.status === 404) holder.closest("li")?.remove();
      },
    });
    holder.classList.add("doomed");
    event.currentTarget.disabled = true;
  };

  const edit = () => {
    const now = holder.item, field = make("textarea", { value: textOf(now), maxlength: "2000", required: true });
    const form = make("form", { class: "edit" },
      make("label", {}, make("span", {}, words("editLabel")), field),
      make("div", { class: "actions" }, make("button", { class: "main" }, words("save")), button("cancel", () => draw("edit"))));
    form.addEventListener("submit", async event => {
      event.preventDefault();
      const text = field.value.trim();
      if (!text || text === textOf(now)) return draw("edit");
      form.querySelector(".wrong")?.remove();
      for (const control of form.elements) control.disabled = true;
      try {
        await correct(holder, now, text);
      } catch (error) {
        if (error.status === 412) { notice(words("changed")); return renew(holder); }
        for (const control of form.elements) control.disabled = false;
        form.append(wrong(error));
        field.focus();
      }
    });
    form.addEventListener("keydown", event => {
      if (event.key === "Escape") draw("edit");
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    holder.replaceChildren(form);
    field.focus();
  };

  // Show it as it is now, unless somebody is at it: what is open stays open, and what has the focus keeps it.
  holder.renew = now => {
    if (holder.querySelector("form") || doomed.has(holder.item.id)) return;
    const opened = Boolean(holder.querySelector("[data-act=details][aria-expanded=true]"));
    const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.act : "";
    holder.item = now;
    holder.dataset.id = now.id;
    const again = draw(focused);
    if (opened) again.click();
  };
  holder.draw = draw;
  const look = draw();
  if (open) look.click();
  return holder;
}

// Put in the fact that is believed now; undoing is correcting it back.
async function correct(holder, before, text, undoing = false) {
  const now = await ask(`memories/${part(before.id)}`, { method: "PATCH", body: { text }, match: before.revision });
  holder.item = now;
  holder.dataset.id = now.id;
  holder.draw("edit");
  if (undoing) return notice(words("undone"), { seconds: UNDO_SECONDS });
  return notice(words("corrected"), {
    seconds: UNDO_SECONDS,
    actions: [["undo", () => correct(holder, holder.item, textOf(before), true)
      .catch(error => notice(error instanceof Refused ? error.told() : words("wrong_other"))), ""]],
  });
}

// Show a memory as it stands now; one that is gone goes.
async function renew(holder) {
  try {
    holder.item = (await ask(`memories/${part(holder.item.id)}`)).memory;
    holder.draw();
  } catch (error) {
    if (error.status === 404) holder.closest("li")?.remove();
  }
}

// --- what is behind it ---

async function detailsOf(shown) {
  const { memory, history, provenance, derived, links, doubts } = await ask(`memories/${part(shown.id)}`);
  const before = history.filter(was => was.why !== "believed" || was.text !== memory.text);
  const block = (key, list) => list.length > 0 && [make("h2", {}, words(key)), make("ul", { class: "plain" }, list)];
  const linked = item => make("a", { href: `#/memories/${part(item.id)}` }, short(textOf(item), 140) || item.id);
  return [
    memory.text.length > textOf(shown).length && make("p", { class: "text" }, memory.text),
    make("h2", {}, words("wordsOfIt")),
    provenance.length ? provenance.map(said => make("blockquote", {},
      quoted(said.text, said.quote),
      make("p", { class: "meta" }, said.role && words(`role_${said.role}`), said.said_at && time(said.said_at, moment(said.said_at))),
    )) : make("p", { class: "dim" }, words("noWords")),
    block("history", before.map(was => make("li", {}, `${was.text} `, make("span", { class: "dim" },
      [was.since && words("since", { date: day(was.since) }), was.until && words("until", { date: day(was.until) }),
        words(`why_${was.why.replace(" ", "_")}`)].filter(Boolean).join(", "))))),
    block("doubts", doubts.map(doubt => make("li", {}, make("a", { href: `#/memories/${part(doubt.id)}` }, short(doubt.text, 300) || doubt.id),
      make("span", { class: "dim" }, ` ${day(doubt.since)}`)))),
    block("derived", derived.map(item => make("li", {}, make("span", { class: "chip" }, words(`one_${kindOf(item)}`)), " ", linked(item)))),
    block("links", links.map(link => make("li", {}, make("span", { class: "dim" }, words(`${link.direction === "in" ? "back" : "link"}_${link.relation}`)), " ", linked(link.memory)))),
  ];
}

// A text with the part of it marked that counts.
function quoted(text, quote) {
  const whole = String(text ?? quote ?? "");
  const at = quote ? whole.indexOf(quote) : -1;
  if (at < 0) return make("span", {}, whole);
  return make("span", {}, whole.slice(0, at), make("mark", {}, quote), whole.slice(at + quote.length));
}

// --- the view ---

function memoriesView(main, [id]) {
  if (id) return oneMemory(main, id);
  let topic = "fact", state = "current", query = "";
  const place = make("div", { class: "waiting-lines" });
  const topics = make("div", { class: "topics", role: "group", "aria-label": words("topics") });
  const states = make("select", { onchange: () => { state = states.value; show(); } },
    ["current", "past", "all"].map(one => make("option", { value: one }, words(one === "all" ? "both" : one))));
  const field = make("input", { type: "search", name: "q", maxlength: "2000", autocomplete: "off" });
  const search = make("form", { role: "search", class: "row" },
    make("label", { class: "grow" }, make("span", {}, words("search")), field),
    make("button", { class: "main" }, words("find")),
    make("label", {}, make("span", {}, words("state")), states));
  search.addEventListener("submit", event => { event.preventDefault(); query = field.value.trim(); show(); });
  field.addEventListener("input", () => { if (!field.value && query) { query = ""; show(); } });
  for (const one of [...TOPICS, ""])
    topics.append(make("button", { type: "button", "data-topic": one, "aria-pressed": String(one === topic), onclick: () => {
      topic = one;
      query = field.value = "";
      for (const other of topics.children) other.setAttribute("aria-pressed", String(other.dataset.topic === one));
      show();
    } }, words(one ? `kind_${one}` : "all")));

  let pages = null, revision = Promise.resolve("");
  const asked = (cursor, limit) => {
    const page = ask("memories", { query: { kind: topic, state, limit, cursor } });
    revision = page.then(({ revision: listed }) => listed, () => "");
    return page;
  };
  const line = item => make("li", {}, card(item));
  const show = () => {
    states.disabled = Boolean(query);
    pages = null;
    if (query) return fill(place, () => found(query));
    // a list of its own: what is still on its way for another topic comes to nothing
    const list = make("ol", { class: "memories", "aria-label": words("memories") });
    pages = paged(list, asked, line, "none");
    place.replaceChildren(list, pages.foot);
    return pages.next();
  };
  main.replaceChildren(...lead("memories", "memoriesLead"), search, topics, place, teller(show));
  show();
  // what a search has found stays until it is asked for again
  return { refresh: () => pages?.again(), revision: () => revision };
}

function teller(show) {
  const field = make("textarea", { maxlength: "2000", required: true, rows: "2" });
  const form = make("form", { class: "edit" },
    make("label", {}, make("span", {}, words("rememberLabel")), field),
    make("div", { class: "actions" }, make("button", { class: "main" }, words("rememberDo"))));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    form.querySelector(".wrong")?.remove();
    try {
      const { outcome } = await ask("memories", { method: "POST", body: { text: field.value.trim() } });
      field.value = "";
      notice(words(outcome === "known" ? "known" : "remembered"), { seconds: UNDO_SECONDS });
      show();
    } catch (error) {
      form.append(wrong(error));
    }
  });
  return make("details", {}, make("summary", {}, words("remember")), form);
}

function oneMemory(main, id) {
  const place = make("div", { class: "waiting-lines" });
  const gone = () => { location.hash = "#/memories"; };
  main.replaceChildren(...lead("memory"), make("p", {}, make("a", { href: "#/memories" }, words("memories"))), place);
  fill(place, async () => card((await ask(`memories/${part(id)}`)).memory, { open: true, gone }));
  return { refresh: async () => {
    const shown = place.querySelector("article");
    const { memory } = await ask(`memories/${part(id)}`).catch(error => ({ memory: error.status === 404 ? null : shown?.item }));
    if (!memory && shown && !doomed.has(id)) place.replaceChildren(make("p", { class: "empty" }, words("wrong_404")));
    if (memory && shown && JSON.stringify(memory) !== JSON.stringify(shown.item)) shown.renew(memory);
  } };
}

// --- search that shows why ---

async function found(query) {
  const { items, missing = {} } = await ask("search", { method: "POST", body: { query } });
  say(words("found", { count: items.length }));
  const most = Math.max(...items.flatMap(hit => Object.values(hit.arms ?? {})), 1e-9);
  return [
    notAsked(missing),
    items.length ? make("ol", { class: "memories", "aria-label": words("find") }, items.map(hit => make("li", {},
      card(hit.memory, { below: () => reasons(hit, most) }))))
      : make("p", { class: "empty" }, words("notFound")),
  ];
}

// What could not be asked, and why.
function notAsked(missing = {}) {
  const names = Object.entries(missing).map(([name, why]) => `${words(`arm_${name}`)} (${short(why)})`).join(", ");
  return names && make("p", { class: "wrong" }, words("missing", { names }));
}

function reasons({ arms = {}, similarity, fragments = [], memory }, most) {
  const said = fragments.map(one => one.text).filter(one => one && one !== memory.text);
  if (!said.length && !Object.keys(arms).length) return "";
  return make("div", { class: "reasons" },
    make("p", { class: "meta" }, words("because"), similarity !== undefined && similarity !== null
      && make("span", {}, words("likeness", { percent: number(Math.round(100 * similarity)) }))),
    make("div", { class: "arms", role: "list", "aria-label": words("because") }, Object.entries(arms).sort((a, b) => b[1] - a[1]).map(([arm, share]) =>
      make("div", { role: "listitem", class: "arm" },
        make("span", {}, words(`arm_${arm}`)), bar(share / most), make("span", { class: "number dim" }, number(share))))),
    said.map(one => make("blockquote", {}, one)));
}
