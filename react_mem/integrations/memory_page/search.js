"use strict";

// Characters of a question, as the server takes it.
const MOST_ASKED = 4_000;

// What a search has found, facts first; of one kind where one is chosen.
async function found(query, kind) {
  const { items, missing = {} } = await ask("search", { method: "POST", body: { query } });
  const wanted = items.filter(({ memory }) => !kind || kindOf(memory) === kind);
  say(words("found", { count: wanted.length }));
  const most = Math.max(...items.flatMap(hit => Object.values(hit.arms ?? {})), 1e-9);
  const groups = Map.groupBy(wanted, ({ memory }) => kindOf(memory));
  return [
    notAsked(missing),
    wanted.length ? [...groups].sort(([a], [b]) => rankOf(a) - rankOf(b)).map(([name, hits]) => [
      make("h2", {}, words(`kind_${name}`), " ", make("span", { class: "count dim" }, number(hits.length))),
      make("ol", { class: "memories", "aria-label": words(`kind_${name}`) }, hits.map(hit => make("li", {},
        card(hit.memory, { below: () => reasons(hit, most) }))))])
      : make("p", { class: "empty" }, words(items.length ? "notOfKind" : "notFound", { count: items.length })),
  ];
}

// What could not be asked, and why.
function notAsked(missing = {}) {
  const names = Object.keys(missing).map(name => words(`arm_${name}`)).join(", ");
  return names && make("div", { class: "wrong" }, make("p", {}, words("missing", { names })),
    behind(Object.entries(missing).map(([name, why]) => `${name}: ${why}`).join("; ")));
}

function reasons({ arms = {}, similarity, fragments = [], memory }, most) {
  const said = fragments.map(one => one.text).filter(one => one && one !== memory.text);
  // what had no part in it is not named
  const parts = Object.entries(arms).filter(([, share]) => share / most >= 0.005).sort((a, b) => b[1] - a[1]);
  if (!said.length && !parts.length) return "";
  return make("div", { class: "reasons" },
    make("p", { class: "meta" }, words("because"), similarity !== undefined && similarity !== null
      && make("span", {}, words("likeness", { percent: Math.round(100 * similarity) }))),
    make("div", { class: "arms", role: "list", "aria-label": words("because") }, parts.map(([arm, share]) =>
      make("div", { role: "listitem", class: "arm" },
        make("span", {}, words(`arm_${arm}`)), bar(share / most), make("span", { class: "number dim" }, percent(share / most))))),
    said.map(one => make("blockquote", {}, one)));
}
