"use strict";

const KINDS = ["fact", "episode", "skill", "document", "knowledge", "task", "summary"];
// Facts of a page, which stand by their topics: of most people all of them.
const FACTS = 200;

function memoriesView(main, [id], asked) {
  if (id) return oneMemory(main, id);
  const states = make("select", {}, ["current", "past", "all"].map(one => make("option", { value: one }, words(one === "all" ? "both" : one))));
  const field = make("input", { type: "search", name: "q", autocomplete: "off", value: asked.get("q") ?? "" });
  const size = bounded(field, MOST_ASKED, MOST_ASKED / 2);
  const search = make("form", { role: "search", class: "row" },
    make("label", { class: "grow" }, make("span", {}, words("search")), field),
    make("button", { class: "main" }, words("find")),
    make("label", { class: "states" }, make("span", {}, words("state")), states), size.told);
  const place = make("div", { class: "waiting-lines" });
  const kinds = make("div", { class: "topics", role: "group", "aria-label": words("kinds") });

  // what is looked for, of which kind, and which kind is listed where nothing is
  let query = field.value.trim(), within = query ? asked.get("kind") ?? "" : "", kind = query ? "fact" : asked.get("kind") ?? "fact";
  states.value = ["past", "all"].includes(asked.get("state")) ? asked.get("state") : "current";

  // The address says what is shown, so that the way back leads to it.
  const keepAddress = () => {
    const told = new URLSearchParams();
    if (query) told.set("q", query);
    if (query ? within : kind !== "fact") told.set("kind", query ? within : kind);
    if (!query && states.value !== "current") told.set("state", states.value);
    const address = `#/memories${told.size ? `?${told}` : ""}`;
    if (address !== location.hash && (told.size || location.hash.includes("?"))) history.pushState({ visit: visit() }, "", address);
  };
  for (const one of [...KINDS, "message", ""]) kinds.append(make("button", { type: "button", "data-kind": one, onclick: () => {
    if (query) within = one; else kind = one;
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
  states.addEventListener("change", () => changed());

  let pages = null, revision = Promise.resolve("");
  const listed = (cursor, limit) => {
    const page = ask("memories", { query: { kind, state: states.value, limit, cursor, topics: kind === "fact" || undefined } });
    revision = page.then(({ revision: told }) => told, () => "");
    return page;
  };
  const changed = () => { keepAddress(); draw(); };
  const draw = () => {
    for (const one of kinds.children) {
      one.setAttribute("aria-pressed", String(one.dataset.kind === (query ? within : kind)));
      // a message is no memory by itself, but may be what was looked for
      one.hidden = one.dataset.kind === "message" && !query;
    }
    states.disabled = Boolean(query);
    pages = null;
    if (query) return fill(place, () => found(query, within));
    // a list of its own: what is still on its way for another kind comes to nothing
    const facts = kind === "fact", list = facts ? make("div", { class: "by-topic" }) : make("ol", { class: "memories", "aria-label": words("memories") });
    pages = paged(facts ? byTopic(list, words("memories")) : inOrder(list), listed, item => make("li", {}, card(item)), "none", facts ? FACTS : PAGE);
    place.replaceChildren(list, pages.foot);
    return pages.next();
  };
  main.replaceChildren(...lead("memories", "memoriesLead"), search, kinds, place, teller(() => pages?.again(false)));
  draw();
  // what a search has found stays until it is asked for again
  return { refresh: () => pages?.again(), revision: () => revision };
}

function teller(renewed) {
  const field = make("textarea", { rows: "2" }), size = bounded(field, MOST_SAID);
  const form = make("form", { class: "edit", novalidate: true },
    make("label", {}, make("span", {}, words("rememberLabel")), field), size.told,
    make("div", { class: "actions" }, make("button", { class: "main" }, words("rememberDo"))));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    complain(form);
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
  return make("details", {}, make("summary", {}, words("remember")), form);
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
