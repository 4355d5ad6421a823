"use strict";

const UNDO_SECONDS = 8;
const LEFT_KEY = "react-mem.left";

// What will be forgotten in some seconds, by id: nothing is asked of the server before, for forgetting is for good.
const doomed = new Map();

// `wish` has the path to ask, the revision that was looked at, and what to do once it is done or will not be.
function forgetSoon(id, text, wish) {
  if (doomed.has(id)) return;
  const told = { text: short(text), seconds: UNDO_SECONDS };
  doomed.set(id, text);
  notice(words("doomed", told), {
    seconds: UNDO_SECONDS, waits: words("doomedWaits", told), keys: wish.byKey,
    then: () => forgetNow(id, text, wish),
    actions: [["undo", () => spare(id, wish), "main"], ["now", () => forgetNow(id, text, wish), "danger"]],
  });
}

function spare(id, { spared }) {
  doomed.delete(id);
  say(words("kept"));
  spared();
}

async function forgetNow(id, text, wish, again = false) {
  say(words("forgetting", { text: short(text) }));
  try {
    const { receipt, problems } = await ask(wish.path, { method: wish.method ?? "DELETE", match: wish.match, body: wish.body });
    const sum = parts => Object.values(parts ?? {}).reduce((all, ids) => all + ids.length, 0);
    doomed.delete(id);
    wish.done();
    if (!problems?.length)
      return notice(words("forgotten", { removed: sum(receipt?.removed), rewritten: sum(receipt?.rewritten) }), { seconds: UNDO_SECONDS });
    notice(words("forgottenLess", { text: short(text) })).strip.append(behind(problems.join("; ")));
  } catch (error) {
    if (isOver(error)) return;
    if (unreachable(error)) return forgetLater(id, text, wish, error);
    doomed.delete(id);
    // what went through without the answer is gone
    if (again && error.status === 404) { wish.done(); return notice(words("goneAlready", { text: short(text) })); }
    wish.spared(error);
    notice(words(error.status === 412 ? "forgetChanged" : "forgetFailed", { text: short(text), why: meaning(error) }));
  }
}

// The server is not there: the wish stays, says of what it is, and is carried out once the server is back.
function forgetLater(id, text, wish, error) {
  const told = notice(words("forgetLater", { text: short(text), why: meaning(error) }), {
    actions: [["undo", () => { forgetIt(); spare(id, wish); }, "main"], ["again", () => { forgetIt(); forgetNow(id, text, wish, true); }]],
    stays: true,
  });
  const forgetIt = whenReached(() => { told.end(); forgetNow(id, text, wish, true); });
}

// --- many at once ---

// Memories that the server forgets at once.
const MOST_AT_ONCE = 100;
// The cards that are chosen, by the id of what they show; and what tells how many these are.
const picked = new Map();
let tellPicked = () => {};

function picks(holder, chosen) {
  if (chosen) picked.set(holder.item.id, holder); else picked.delete(holder.item.id);
  tellPicked();
}

// What can be done with the cards that are chosen, above their list; it is there once some are.
function picker() {
  picked.clear();
  const count = make("span", {});
  const all = chosen => { for (const box of bar.parentElement.querySelectorAll("[data-act=pick]")) if (box.checked !== chosen) box.click(); };
  const forget = event => {
    const cards = [...picked.values()].filter(one => one.isConnected && !doomed.has(one.item.id)).slice(0, MOST_AT_ONCE);
    if (!cards.length) return;
    const ids = cards.map(one => one.item.id);
    forgetSoon(ids.join(), words("memoriesOf", { count: cards.length, text: short(textOf(cards[0].item)) }), {
      path: "forget", method: "POST", body: { ids }, byKey: event.detail === 0,
      done: () => { for (const one of cards) one.leave(); },
      spared: () => { for (const one of cards) { one.show(one.item); } },
    });
    for (const one of cards) { picked.delete(one.item.id); one.show(one.item); one.classList.add("doomed"); }
    tellPicked();
  };
  const bar = make("div", { class: "actions picked", role: "group", "aria-label": words("chosenOnes"), hidden: true }, count,
    button("forgetChosen", forget, "danger"), button("chooseAll", () => all(true), "quiet"), button("chooseNone", () => all(false), "quiet"));
  tellPicked = () => {
    count.textContent = words("chosenCount", { count: picked.size });
    const at = bar.contains(document.activeElement);
    bar.hidden = !picked.size;
    if (at && bar.hidden && unfocused()) focusOn(bar.parentElement.querySelector("[data-act=pick]"));
  };
  return bar;
}

// Who leaves has not waited: nothing is forgotten, and the next visit says so.
addEventListener("pagehide", () => keep(sessionStorage, LEFT_KEY, [...doomed.values()].map(text => short(text)).join("; ")));

function tellWhatStayed() {
  const left = kept(sessionStorage, LEFT_KEY);
  keep(sessionStorage, LEFT_KEY, "");
  if (left) notice(words("leftBefore", { text: left }));
}
