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
    const { receipt, problems } = await ask(wish.path, { method: "DELETE", match: wish.match });
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

// Who leaves has not waited: nothing is forgotten, and the next visit says so.
addEventListener("pagehide", () => keep(sessionStorage, LEFT_KEY, [...doomed.values()].map(text => short(text)).join("; ")));

function tellWhatStayed() {
  const left = kept(sessionStorage, LEFT_KEY);
  keep(sessionStorage, LEFT_KEY, "");
  if (left) notice(words("leftBefore", { text: left }));
}
