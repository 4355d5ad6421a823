"use strict";

const onThePage = new Set();

// A line at the bottom of the page with what can be done about it. It goes by itself after some seconds, which stand still
// while a key could press it; `waits` says so meanwhile. `keys` takes whoever uses keys to it; one that `stays` is not closed.
function notice(text, { actions = [], seconds = 0, then, waits = text, keys = false, stays = false } = {}) {
  const told = make("p", {}, text), left = make("span", { class: "left", "aria-hidden": "true" });
  const strip = make("div", { class: "notice", role: "group" }, told);
  let timer = 0, over = false, before = null;
  const tell = words => { told.textContent = words; strip.setAttribute("aria-label", short(words, 240)); };
  const end = act => {
    // a focused button that is removed loses its focus, which must not start the wait again
    const at = strip.contains(document.activeElement);
    over = true;
    clearTimeout(timer);
    strip.remove();
    onThePage.delete(end);
    if (at) focusOn(before?.disabled ? before.closest("article") : before);
    if (act) act();
  };
  const run = () => {
    clearTimeout(timer);
    tell(text);
    left.remove();
    strip.append(left);
    timer = setTimeout(() => end(then), 1000 * seconds);
  };
  const stand = () => { clearTimeout(timer); left.remove(); tell(waits); };
  for (const [key, act, kind] of actions) strip.append(button(key, () => end(act), kind));
  strip.addEventListener("focusin", event => {
    if (strip.contains(event.relatedTarget)) return;
    before = event.relatedTarget ?? before;
    // a pointer presses as soon as it is there: nothing may move under it
    if (seconds && event.target.matches(":focus-visible")) stand();
  });
  strip.addEventListener("focusout", event => {
    // who goes to another window has not gone on
    if (over || !seconds || strip.contains(event.relatedTarget) || strip.contains(document.activeElement)) return;
    run();
    say(text);
  });
  byId("notices").append(strip);
  onThePage.add(end);
  if (seconds) {
    left.style.animationDuration = `${seconds}s`;
    run();
  } else {
    tell(text);
    if (!stays) strip.append(button("close", () => end(), "quiet"));
  }
  if (keys) strip.querySelector("button").focus();
  say(told.textContent);
  return { strip, end };
}

// Take all of them from the page; nothing that they wait for is done.
function clearNotices() {
  for (const end of [...onThePage]) end();
}
