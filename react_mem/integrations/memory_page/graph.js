"use strict";

const MOST_NODES = 2_000, LISTED = 50, SLOW = 1_500;

const TONES = { line: "edge", accent: "accent", sheet: "sheet", ink: "ink" };

// What is remembered and how it hangs together: a drawing, and the same as a list.
function graphView(main) {
  const left = make("p", { class: "dim" });
  const kindsOf = make("fieldset", {}), relationsOf = make("fieldset", {});
  const panel = make("section", { class: "chosen", "aria-label": words("chosen"), tabindex: "-1" });
  const field = make("input", { type: "search", autocomplete: "off", oninput: () => { most = LISTED; list(); } });
  const canvas = make("canvas", { tabindex: "0", role: "application", "aria-label": words("drawing"), "aria-describedby": "graph-keys" });
  const lines = make("ul", { class: "plain listed", "aria-label": words("asList") }), foot = make("div", { class: "more" });
  const drawn = make("div", {}, canvas, make("div", { class: "actions" },
    button("zoomIn", () => drawing.zoom(1.25)), button("zoomOut", () => drawing.zoom(0.8)), button("fit", () => drawing.fit())),
  make("p", { class: "hint", id: "graph-keys" }, words("graphKeys")));
  const listed = make("div", { hidden: true }, make("label", {}, make("span", {}, words("findInGraph")), field), lines, foot);
  const ways = make("div", { class: "topics", role: "group", "aria-label": words("view") }, [["drawing", drawn], ["asList", listed]].map(([key, place]) =>
    make("button", { type: "button", "aria-pressed": String(place === drawn), onclick: event => {
      drawn.hidden = place !== drawn;
      listed.hidden = place !== listed;
      for (const way of ways.children) way.setAttribute("aria-pressed", String(way === event.currentTarget));
    } }, words(key))));
  const graph = make("div", { class: "graph wide" }, make("div", {}, drawn, listed), make("div", {}, kindsOf, relationsOf, panel));
  main.replaceChildren(...lead("graph", "graphLead"), left, ways, graph);

  // a canvas takes no variables of the style: an element that nobody sees tells what they come to
  const probe = make("span", { hidden: true, class: "probe" }), tones = {};
  graph.append(probe);
  const colours = name => {
    if (!tones[name]) {
      probe.style.color = name in TONES ? `var(--${TONES[name]})` : `var(--kind-${CSS.escape(name)}, var(--edge))`;
      tones[name] = getComputedStyle(probe).color;
    }
    return tones[name];
  };
  const drawing = new Drawing(canvas, { choose: node => choose(node?.id), colours });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const forced = matchMedia("(forced-colors: active)");
  const recolour = () => { for (const name of Object.keys(tones)) delete tones[name]; drawing.mark(drawing.chosen); };
  for (const one of [scheme, forced]) one.addEventListener("change", recolour);

  // what there is, what of it is wanted, and what is left
  let whole = { nodes: [], links: [], left_out: 0 }, hidden = new Set(), cut = new Set(), nodes = [], links = [], beside = new Map(), told = "";

  const choose = (id, aloud = true) => {
    const node = id && whole.nodes.find(one => one.id === id);
    drawing.mark(node ? id : "");
    if (!node) return panel.replaceChildren(make("h2", {}, words("chosen")), make("p", { class: "dim" }, words("chooseOne")));
    panel.replaceChildren(make("h2", {}, words("chosen")), ...aboutNode(node), linksOf(node));
    if (aloud) say(short(node.text, 120));
  };
  const aboutNode = node => [make("p", { class: "text" }, short(node.text, 600)), make("p", { class: "meta" }, make("span", { class: "chip" }, words(`one_${node.kind}`)),
    node.current === false && make("span", { class: "chip warn" }, words("pastMark")), make("a", { href: `#/memories/${part(node.id)}` }, words("details")))];
  const linksOf = node => {
    const found = beside.get(node.id) ?? [];
    if (!found.length) return make("p", { class: "dim" }, words("noLinks"));
    return make("ul", { class: "plain" }, found.slice(0, LISTED).map(({ way, other }) => make("li", {}, make("span", { class: "dim" }, words(way)), " ",
      make("button", { type: "button", class: "quiet link", onclick: () => { choose(other.id); panel.focus(); } }, short(other.text, 90) || words(`one_${other.kind}`)))),
    found.length > LISTED && make("li", { class: "dim" }, words("shown", { count: LISTED, total: found.length })));
  };

  let most = LISTED;
  const list = () => {
    const open = new Set([...lines.querySelectorAll("details[open]")].map(one => one.dataset.id));
    const focused = document.activeElement?.closest(".listed details")?.dataset.id;
    const asked = field.value.trim().toLocaleLowerCase();
    const found = nodes.filter(node => !asked || node.text.toLocaleLowerCase().includes(asked));
    lines.replaceChildren(...found.slice(0, most).map(node => {
      const below = make("div", {});
      const inside = make("details", { "data-id": node.id }, make("summary", {},
        make("span", { class: "dot", "data-kind": node.kind, "aria-hidden": "true" }), " ", short(node.text, 110) || words(`one_${node.kind}`),
        make("span", { class: "dim" }, ` · ${words(`one_${node.kind}`)} · ${words("linksCount", { count: beside.get(node.id)?.length ?? 0 })}`)), below);
      const look = () => { if (inside.open && !below.hasChildNodes()) below.append(...aboutNode(node), linksOf(node)); };
      inside.open = open.has(node.id);
      look();
      inside.addEventListener("toggle", look);
      return make("li", {}, inside);
    }));
    if (focused) [...lines.querySelectorAll("details")].find(one => one.dataset.id === focused)?.querySelector("summary").focus({ preventScroll: true });
    foot.replaceChildren(...[make("span", {}, words("shown", { count: Math.min(most, found.length), total: found.length })),
      found.length > most && button("more", () => { most += LISTED; list(); lines.children[most - LISTED]?.querySelector("summary").focus(); })].filter(Boolean));
  };

  const filter = () => {
    nodes = whole.nodes.filter(node => !hidden.has(node.kind)).sort((a, b) => rankOf(a.kind) - rankOf(b.kind));
    const there = new Map(nodes.map(node => [node.id, node]));
    links = whole.links.filter(link => !cut.has(link.relation) && there.has(link.from) && there.has(link.to));
    beside = new Map();
    const note = (id, one) => { if (beside.has(id)) beside.get(id).push(one); else beside.set(id, [one]); };
    for (const { from, to, relation } of links) {
      note(from, { way: `link_${relation}`, other: there.get(to) });
      note(to, { way: `back_${relation}`, other: there.get(from) });
    }
    left.textContent = [words("graphSize", { nodes: nodes.length, links: links.length }),
      whole.left_out > 0 && words("leftOut", { count: whole.left_out })].filter(Boolean).join(". ");
    drawing.show(nodes, links);
    list();
  };

  const boxes = (place, key, counts, off, wordOf, dotted, act) => {
    const focused = place.contains(document.activeElement) ? document.activeElement.name : "";
    place.replaceChildren(make("legend", {}, words(key)), ...counts.map(([name, count]) => make("label", {},
      make("input", { type: "checkbox", name, checked: !off.has(name), onchange: event => {
        if (event.currentTarget.checked) off.delete(name); else off.add(name);
        act();
      } }),
      dotted && make("span", { class: "dot", "data-kind": name, "aria-hidden": "true" }),
      make("span", {}, words(wordOf(name))), make("span", { class: "count" }, number(count)))));
    if (focused) [...place.querySelectorAll("input")].find(one => one.name === focused)?.focus();
  };

  const counted = (all, key) => {
    const counts = new Map();
    for (const one of all) counts.set(one[key], (counts.get(one[key]) ?? 0) + 1);
    return [...counts].sort(([a], [b]) => rankOf(a) - rankOf(b));
  };

  // Of more than can be drawn some are left out: then what is wanted of it is asked for anew.
  let kinds = [], partly = false;
  let took = 0;
  const asked = async () => {
    const began = performance.now();
    const answer = await asking();
    took = performance.now() - began;
    return answer;
  };
  const asking = () => ask("graph", { query: { limit: MOST_NODES,
    kind: partly && hidden.size ? kinds.filter(([kind]) => !hidden.has(kind)).map(([kind]) => kind) : undefined } });
  const filterKinds = async () => {
    if (!partly) return filter();
    try {
      take(hidden.size < kinds.length ? await asked() : { nodes: [], links: [], left_out: 0 });
    } catch (error) {
      if (!isOver(error)) notice(meaning(error));
    }
  };
  const take = answer => {
    whole = answer;
    told = JSON.stringify(answer);
    const counts = new Map(counted(answer.nodes, "kind"));
    // a kind that is not asked for has no number here
    kinds = partly ? kinds.map(([kind, count]) => [kind, counts.get(kind) ?? count]) : [...counts];
    partly ||= answer.left_out > 0;
    boxes(kindsOf, "kinds", kinds, hidden, kind => `kind_${kind}`, true, filterKinds);
    boxes(relationsOf, "relations", counted(answer.links, "relation"), cut, relation => `link_${relation}`, false, filter);
    recolour();
    filter();
  };
  const first = async () => {
    left.setAttribute("aria-busy", "true");
    try {
      take(await asked());
      choose("");
    } catch (error) {
      if (!isOver(error)) graph.replaceChildren(wrong(error, () => show(false)));
    } finally {
      left.removeAttribute("aria-busy");
    }
  };
  first();
  return {
    drawing,
    leave: () => { drawing.leave(); for (const one of [scheme, forced]) one.removeEventListener("change", recolour); },
    // what somebody has left out stays so, and what is chosen stays chosen
    refresh: async () => {
      // what takes the server long is not asked of it with every change
      if (took > SLOW) return left.append(left.querySelector("button") ? "" : button("drawAgain", () => { took = 0; canvas.focus({ preventScroll: true }); view.refresh(); }, "quiet"));
      const answer = await asked();
      if (JSON.stringify(answer) === told) return;
      const inPanel = panel.contains(document.activeElement);
      take(answer);
      choose(drawing.chosen, false);
      if (inPanel) panel.focus();
    },
  };
}
