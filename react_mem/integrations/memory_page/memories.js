"use strict";

const KINDS = ["fact", "episode", "skill", "document", "knowledge", "task", "summary"];
const ORIGINS = ["user", "assent", "speaker", "quoted", "assistant", "tool", "web", "import"];
// Facts of a page, of which most people have but one.
const FACTS = 200;
// What the list shows where nothing else is chosen.
const PLAIN = { kind: "fact", state: "current", origin: "", topic: "", since: "", until: "" };

function memoriesView(main, [id], asked) {
  if (id) return oneMemory(main, id);
  const field = make("input", { type: "search", name: "q", autocomplete: "off", value: asked.get("q") ?? "" });
  const size = bounded(field, MOST_ASKED, MOST_ASKED / 2);
  const search = make("form", { role: "search", class: "row" },
    make("label", { class: "grow" }, make("span", {}, words("search")), field),
    make("button", { class: "main" }, words("find")), size.told);
  const place = make("div", { class: "waiting-lines" });
  const kinds = make("div", { class: "topics", role: "group", "aria-label": words("kinds") });
  const topics = make("div", { class: "topics", role: "group", "aria-label": words("topics"), hidden: true });

  // what is looked for, of which kind, and what is listed where nothing is
  let query = field.value.trim(), within = query ? asked.get("kind") ?? "" : "";
  const chosen = { ...PLAIN };
  for (const key of query ? [] : Object.keys(PLAIN)) chosen[key] = asked.get(key) ?? PLAIN[key];

  // The address says what is shown, so that the way back leads to it.
  const keepAddress = () => {
    const told = new URLSearchParams();
    if (query) { told.set("q", query); if (within) told.set("kind", within); }
    else for (const [key, value] of Object.entries(chosen)) if (value !== PLAIN[key]) told.set(key, value);
    const address = `#/memories${told.size ? `?${told}` : ""}`;
    if (address !== location.hash && (told.size || location.hash.includes("?"))) history.pushState({ visit: visit() }, "", address);
  };
  const changed = () => { keepAddress(); draw(); };
  const choose = (key, value) => { chosen[key] = value; changed(); };
  const select = (key, options) => make("select", { "data-filter": key, onchange: event => choose(key, event.target.value) },
    options.map(([value, name]) => make("option", { value }, words(name))));
  const filters = make("div", { class: "row filters", role: "group", "aria-label": words("filters") }, [
    ["state", "state", select("state", [["current", "current"], ["past", "past"], ["all", "both"]])],
    ["origin", "origin", select("origin", [["", "anyOrigin"], ...ORIGINS.map(one => [one, `from_${one}`])])],
    ["since", "sinceDay", make("input", { type: "date", "data-filter": "since", onchange: event => choose("since", event.target.value) })],
    ["until", "untilDay", make("input", { type: "date", "data-filter": "until", onchange: event => choose("until", event.target.value) })],
  ].map(([, key, control]) => make("label", {}, make("span", {}, words(key)), control)));
  for (const one of [...KINDS, "message", ""]) kinds.append(make("button", { type: "button", "data-kind": one, onclick: () => {
    if (query) within = one; else chosen.kind = one;
    changed();
  } }, words(one ? `kind_${one}` : "all")));
  search.addEventListener("submit", event => {
    event.preventDefault();
    if (!size.fits()) return;
    query = field.value.trim();
    within = "";
    changed();
  });
  field.addEventListener("input", () => { if (!field.value && query) { query = ""; changed(); } });

  let pages = null, revision = Promise.resolve("");
  const listed = (cursor, limit) => {
    const { kind, state, origin, topic } = chosen;
    const since = midnight(chosen.since), before = midnight(chosen.until, 1);
    const page = ask("memories", { query: { kind, state, origin, topic, since, before, limit, cursor, topics: (kind === "fact" && !cursor) || undefined } });
    revision = page.then(({ revision: told }) => told, () => "");
    if (!cursor) page.then(told => drawTopics(told.topics ?? []), () => {});
    return page;
  };
  // Topics of all memories, and not of those that are loaded; the one that is chosen stays, whatever there is now.
  const drawTopics = names => {
    const all = chosen.topic && !names.includes(chosen.topic) ? [chosen.topic, ...names] : names;
    const at = topics.contains(document.activeElement) ? document.activeElement.textContent : null;
    topics.replaceChildren(...all.map(name => make("button", { type: "button", "aria-pressed": String(name === chosen.topic),
      onclick: () => choose("topic", name === chosen.topic ? "" : name) }, name)));
    topics.hidden = !all.length || Boolean(query) || chosen.kind !== "fact";
    if (at) focusOn([...topics.children].find(one => one.textContent === at));
  };
  const draw = () => {
    for (const one of kinds.children) {
      one.setAttribute("aria-pressed", String(one.dataset.kind === (query ? within : chosen.kind)));
      // a message is no memory by itself, but may be what was looked for
      one.hidden = one.dataset.kind === "message" && !query;
    }
    // only facts have topics
    if (chosen.kind !== "fact") chosen.topic = "";
    for (const control of filters.querySelectorAll("[data-filter]")) control.value = chosen[control.dataset.filter];
    filters.hidden = Boolean(query);
    drawTopics([...topics.children].map(one => one.textContent));
    pages = null;
    const bar = picker();
    if (query) return fill(place, () => found(query, within));
    // a list of its own: what is still on its way for another kind comes to nothing
    const list = make("ol", { class: chosen.kind ? "memories lines" : "memories lines mixed", "aria-label": words("memories") });
    const nothing = () => (Object.keys(PLAIN).some(key => chosen[key] !== PLAIN[key]) ? make("p", { class: "empty" }, words("noneOfThese"))
      : make("div", { class: "empty" }, make("p", {}, words("none")), make("p", {}, words("firstStep"))));
    pages = paged(inOrder(list), listed, item => make("li", {}, card(item, { line: true })), nothing, chosen.kind === "fact" ? FACTS : PAGE);
    place.replaceChildren(bar, list, pages.foot);
    return pages.next();
  };
  main.replaceChildren(...lead("memories", "memoriesLead"), teller(() => pages?.again(false)), search, kinds, topics, filters, place);
  draw();
  // what a search has found stays until it is asked for again
  return { refresh: () => pages?.again(), revision: () => revision };
}

// The beginning of a day where the reader is, or of a later one, as the server compares it.
function midnight(named, later = 0) {
  const date = new Date(`${named}T00:00`);
  date.setDate(date.getDate() + later);
  return Number.isNaN(date.valueOf()) ? "" : date.toISOString();
}

function teller(renewed) {
  const field = make("textarea", { rows: "1" }), size = bounded(field, MOST_SAID);
  const form = make("form", { class: "edit teller", novalidate: true },
    make("label", {}, make("span", {}, words("rememberLabel")), field), size.told,
    make("div", { class: "actions" }, make("button", { class: "main" }, words("rememberDo")), button("undoLast", undoLast, "quiet")));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    complain(form);
    if (whose?.paused) return complain(form, words("pausedNote"));
    if (!field.value.trim()) { complain(form, words("blankTold")); return field.focus(); }
    if (!size.fits()) return;
    try {
      await haveRemembered(field.value.trim());
      field.value = "";
      size.check();
      // what somebody is at in the list stays
      await renewed();
    } catch (error) {
      complain(form, wrong(error));
    }
  });
  return form;
}

// Take back what memory has drawn from what was said last.
async function undoLast() {
  try {
    const { texts, restored } = await ask("undo", { method: "POST" });
    notice([texts.length && words("takenBack", { text: short(texts.join(" "), 200) }),
      restored.length && words("heldAgain", { text: short(restored.join(" "), 200) })].filter(Boolean).join(" ") || words("takenBackNone"), { seconds: UNDO_SECONDS });
    await view.refresh?.();
  } catch (error) {
    if (!isOver(error)) notice(error.status === 404 ? words("nothingToUndo") : meaning(error), { seconds: UNDO_SECONDS });
  }
}

function oneMemory(main, id) {
  const place = make("div", { class: "waiting-lines" });
  const gone = () => { if (location.hash === `#/memories/${part(id)}`) location.hash = "#/memories"; };
  main.replaceChildren(...lead("memory"), make("p", {}, make("a", { href: "#/memories" }, words("memories"))), place);
  fill(place, async () => card((await ask(`memories/${part(id)}`)).memory, { open: true, gone }));
  return { refresh: async () => {
    const shown = place.querySelector("article");
    const { memory } = await ask(`memories/${part(id)}`).catch(error => ({ memory: error.status === 404 ? null : shown?.item }));
    if (!memory && shown && !doomed.has(id)) place.replaceChildren(make("p", { class: "empty" }, words("wrong_404")));
    if (memory && shown && JSON.stringify(memory) !== JSON.stringify(shown.item)) shown.renew(memory);
  } };
}
