"use strict";

const PAGE = 50;
const MOST_RENEWED = 400;

const itemOf = line => (line.querySelector("article") ?? line).item ?? {};

// Lines one after the other, in the order in which they come.
const inOrder = list => ({
  lines: () => [...list.children],
  append: lines => list.append(...lines),
  insert: (line, before) => list.insertBefore(line, before),
  told: () => {},
});

// A list in pages: what is there, and a button for what follows; `again()` shows it as it is now. `fetchPage(cursor, limit)`
// gives {items, next_cursor, total}; `shelf` is where the lines stand, `size` how many a page has.
function paged(shelf, fetchPage, draw, emptyKey, size = PAGE) {
  const foot = make("div", { class: "more" });
  let cursor, before = Promise.resolve();
  // One after the other: a page and what is new, drawn at once, would show the same lines twice.
  const inTurn = act => (...told) => {
    const own = before.then(() => act(...told));
    before = own.catch(() => {});
    return own;
  };
  const drawn = item => {
    const line = draw(item);
    (line.querySelector("article") ?? line).item ??= item;
    return line;
  };
  const told = page => {
    const shown = shelf.lines().length, total = Math.max(shown, page.total ?? 0), at = foot.contains(document.activeElement);
    shelf.told();
    foot.replaceChildren(...[
      !shown && make("p", { class: "empty" }, words(emptyKey)),
      shown > 0 && make("span", {}, words("shown", { count: shown, total })),
      cursor && button("more", next)].filter(Boolean));
    if (at) focusOn(foot.querySelector("button") ?? shelf.lines().at(-1));
  };
  const next = inTurn(async () => {
    const at = foot.contains(document.activeElement);
    foot.replaceChildren(make("span", {}, words("loading")));
    foot.setAttribute("aria-busy", "true");
    try {
      const page = await fetchPage(cursor, size);
      const lines = page.items.map(drawn), further = cursor !== undefined;
      shelf.append(lines);
      cursor = page.next_cursor;
      told(page);
      if (further && lines[0]) { lines[0].tabIndex = -1; lines[0].focus({ preventScroll: true }); }
    } catch (error) {
      if (isOver(error)) return;
      foot.replaceChildren(wrong(error, next));
      if (at && unfocused()) focusOn(foot.querySelector("button"));
    } finally {
      foot.removeAttribute("aria-busy");
    }
  });
  // What has not changed stays as it is, and so does the order: nothing is moved away from whoever is at it.
  const again = inTurn(async (aloud = true) => {
    const there = shelf.lines(), shown = there.length, fresh = [];
    let page = {};
    if (foot.querySelector(".wrong") || shown > MOST_RENEWED) return;
    do {
      page = await fetchPage(page.next_cursor, Math.min(200, Math.max(size, shown - fresh.length)));
      fresh.push(...page.items);
    } while (page.next_cursor && fresh.length < shown);
    if (shelf.lines().length !== shown) return;
    const lines = new Map(there.map(line => [itemOf(line).id, line]));
    let behind = null, added = 0;
    for (const item of fresh.reverse()) {
      let line = lines.get(item.id);
      if (line && JSON.stringify(itemOf(line)) !== JSON.stringify(item)) line = renewLine(line, item);
      if (!line) { line = drawn(item); shelf.insert(line, behind); added += 1; }
      lines.delete(item.id);
      behind = line;
    }
    for (const line of lines.values()) if (!line.querySelector("form")) takeOut(line);
    cursor = page.next_cursor;
    told(page);
    if (added && aloud) say(words("added", { count: added }));
  });
  const renewLine = (line, item) => {
    const holder = line.querySelector("article");
    if (holder?.renew) { holder.renew(item); return line; }
    const changed = drawn(item), focused = line.contains(document.activeElement);
    line.replaceWith(changed);
    if (focused) changed.querySelector("a, button")?.focus({ preventScroll: true });
    return changed;
  };
  return { foot, next, again };
}

// --- facts by their topics ---

// Lines under the first of their topics that some of them share, the fullest topic first; what shares none is another matter.
function byTopic(place, label) {
  const groups = new Map();
  const index = make("ul", { class: "topics index", "aria-label": words("topics") });
  place.append(index);
  const lines = () => [...place.querySelectorAll(".topic > ol > li")];
  const groupOf = name => {
    if (!groups.has(name)) {
      const list = make("ol", { class: "memories", "aria-label": name || words("otherTopics") });
      const heading = make("h2", {}, name || words("otherTopics")), count = make("span", { class: "count dim" });
      const whole = make("details", { class: "topic", open: true }, make("summary", {}, heading, " ", count), list);
      const link = make("li", {}, make("button", { type: "button", onclick: () => {
        whole.open = true;
        whole.scrollIntoView({ block: "start" });
        whole.querySelector("summary").focus({ preventScroll: true });
      } }, name || words("otherTopics"), " ", make("span", { class: "count" })));
      groups.set(name, { whole, list, count, link });
      // what shares no topic comes last
      const last = name ? groups.get("") : null;
      place.insertBefore(whole, last?.whole ?? null);
      index.insertBefore(link, last?.link ?? null);
    }
    return groups.get(name);
  };
  const topicsOf = line => itemOf(line).topics ?? [];
  const shared = all => {
    const counts = new Map();
    for (const line of all) for (const topic of topicsOf(line)) counts.set(topic, (counts.get(topic) ?? 0) + 1);
    const chosen = new Map(all.map(line => [line, topicsOf(line).find(topic => counts.get(topic) > 1) ?? ""]));
    const sizes = new Map();
    for (const topic of chosen.values()) sizes.set(topic, (sizes.get(topic) ?? 0) + 1);
    // the others may all have gone to another one of theirs
    for (const [line, topic] of chosen) if (sizes.get(topic) < 2) chosen.set(line, topicsOf(line).find(other => sizes.get(other) > 1) ?? "");
    return { chosen, order: [...sizes.keys()].sort((a, b) => !a - !b || sizes.get(b) - sizes.get(a) || a.localeCompare(b, language)) };
  };
  return {
    lines,
    append: added => {
      const all = [...lines(), ...added].sort((a, b) => String(itemOf(b).created_at).localeCompare(String(itemOf(a).created_at)));
      const { chosen, order } = shared(all);
      for (const name of order) {
        const group = groupOf(name);
        place.insertBefore(group.whole, name ? groups.get("")?.whole ?? null : null);
        index.insertBefore(group.link, name ? groups.get("")?.link ?? null : null);
      }
      for (const [line, name] of chosen) groupOf(name).list.append(line);
    },
    // a new one comes to those of its topic that are there; the others stay where they are looked at
    insert: line => {
      const name = topicsOf(line).find(topic => groups.get(topic)?.list.childElementCount) ?? "", at = String(itemOf(line).created_at);
      const { list } = groupOf(name);
      list.insertBefore(line, [...list.children].find(other => String(itemOf(other).created_at) < at) ?? null);
    },
    told: () => {
      const filled = [...groups].filter(([, { list }]) => list.childElementCount);
      for (const { whole, list, count, link } of groups.values()) {
        whole.hidden = link.hidden = !list.childElementCount;
        count.textContent = link.querySelector(".count").textContent = number(list.childElementCount);
      }
      // of facts that share nothing there is but a list
      const one = filled.length === 1 && filled[0][0] === "";
      place.classList.toggle("alone", one);
      if (one) filled[0][1].whole.open = true;
      groups.get("")?.list.setAttribute("aria-label", one ? label : words("otherTopics"));
      index.hidden = one || !filled.length;
    },
  };
}
