"use strict";

// Characters of a fact, as the server takes it.
const MOST_SAID = 2_000;
// Of what is longer only the beginning is shown in a list.
const LONG = 480, MANY_LINES = 8;

const kindOf = item => item.kind || item.scope || "memory";
const textOf = item => item.text || item.title || "";
const isFact = item => kindOf(item) === "fact" && item.current !== false;
const isLong = text => text.length > LONG || text.split("\n").length > MANY_LINES;

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

// A memory as a card that can be corrected, forgotten and looked into; as one `line` of a list it can be chosen too.
function card(item, { below, open = false, gone, line = false } = {}) {
  const holder = make("article", { class: "card", "data-id": item.id });
  holder.item = item;
  let whole = open;

  const draw = (focused = "") => {
    const now = holder.item, text = textOf(now);
    holder.classList.toggle("line", line);
    holder.classList.remove("opened");
    holder.classList.toggle("past", now.current === false);
    holder.classList.toggle("doomed", doomed.has(now.id));
    const inside = make("div", { class: "more-of-it", hidden: true });
    const look = make("button", { type: "button", class: "quiet", "aria-expanded": "false", "data-act": "details" }, words("details"));
    look.addEventListener("click", () => {
      inside.hidden = !inside.hidden;
      look.setAttribute("aria-expanded", String(!inside.hidden));
      holder.classList.toggle("opened", !inside.hidden);
      if (!inside.hidden) fill(inside, () => detailsOf(now));
    });
    const said = make("p", { class: "text" }, text ? `${text}${now.truncated ? "…" : ""}` : "…");
    // which memory a button is for, where one hears it alone
    const named = tool => tool.setAttribute("aria-label", `${tool.textContent}: ${short(text)}`);
    const pick = line && make("input", { type: "checkbox", "data-act": "pick", "aria-label": words("choose", { text: short(text) }),
      onchange: event => picks(holder, event.target.checked) });
    if (pick) pick.checked = picked.has(now.id);
    const unfold = isLong(text) && !line && make("button", { type: "button", class: "quiet", "data-act": "unfold", onclick: () => { whole = !whole; fold(); } });
    const fold = () => {
      said.classList.toggle("folded", !whole);
      unfold.textContent = words(whole ? "showLess" : "showWhole");
      unfold.setAttribute("aria-expanded", String(whole));
      named(unfold);
    };
    if (unfold) fold();
    const tools = make("div", { class: "actions" },
      unfold,
      isFact(now) && make("button", { type: "button", class: "quiet", "data-act": "edit", onclick: edit }, words("edit")),
      make("button", { type: "button", class: "quiet danger", "data-act": "forget", onclick: forget, disabled: doomed.has(now.id) },
        words("forget")),
      look);
    for (const tool of tools.children) named(tool);
    holder.replaceChildren(...[pick, said, metaOf(now), below?.(now), tools, inside].filter(Boolean));
    if (focused) holder.querySelector(`[data-act=${focused}]`)?.focus();
    return look;
  };

  const leave = () => { if (gone) gone(); else takeOut(holder.closest("li")); };

  const forget = event => {
    const now = holder.item, press = event.currentTarget;
    forgetSoon(now.id, textOf(now), {
      path: `memories/${part(now.id)}`, match: now.revision, byKey: event.detail === 0,
      done: leave,
      spared: error => {
        const at = holder.contains(document.activeElement) || unfocused();
        draw();
        // whoever has gone on to something else by then stays there
        if (at) focusOn(holder.querySelector("[data-act=forget]"));
        if (error?.status === 412) renewCard(holder);
        if (error?.status === 404) leave();
      },
    });
    holder.classList.add("doomed");
    press.disabled = true;
    if (unfocused()) focusOn(holder);
  };

  const edit = () => { holder.classList.remove("line"); holder.replaceChildren(correcting(holder)); holder.querySelector("textarea").focus(); };

  // Show it as it is now, unless somebody is at it: what is open stays open, and what has the focus keeps it.
  holder.renew = now => {
    if (holder.querySelector("form") || doomed.has(holder.item.id)) return;
    const opened = Boolean(holder.querySelector("[data-act=details][aria-expanded=true]"));
    const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.act : "";
    holder.show(now, focused, opened);
  };
  holder.show = (now, focused = "", opened = false) => {
    holder.item = now;
    holder.dataset.id = now.id;
    const again = draw(focused);
    if (opened) again.click();
  };
  holder.leave = leave;
  const look = draw();
  if (open) look.click();
  return holder;
}

// Show a memory as it stands now; one that is gone goes.
async function renewCard(holder) {
  const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.act : "";
  try {
    holder.show((await ask(`memories/${part(holder.item.id)}`)).memory, focused);
  } catch (error) {
    if (error.status === 404) holder.leave();
  }
}
