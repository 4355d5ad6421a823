"use strict";

const PAGE = 50;
const MOST_RENEWED = 400;

const itemOf = line => (line.querySelector("article") ?? line).item ?? {};

// Lines one after the other, in the order in which they come.
const inOrder = list => ({
  lines: () => [...list.children],
  append: lines => list.append(...lines),
  insert: (line, before) => list.insertBefore(line, before),
});

// A list in pages: what is there, and a button for what follows; `again()` shows it as it is now. `fetchPage(cursor, limit)`
// gives {items, next_cursor, total}; `shelf` is where the lines stand, `size` how many a page has; `nothing` names or draws what
// stands there where nothing is.
function paged(shelf, fetchPage, draw, nothing, size = PAGE) {
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
    foot.replaceChildren(...[
      !shown && (typeof nothing === "function" ? nothing() : make("p", { class: "empty" }, words(nothing))),
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
