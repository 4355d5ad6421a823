"use strict";

const FIRST_WAIT = 3, LONGEST_WAIT = 60, LASTING = 30_000, LONGEST_TIMER = 2 ** 31 - 1;

// The stream of revisions that is followed, as long as somebody looks at the page.
let following = null;
// The revision that what is shown is of; empty before one is known.
let shownRevision = "";

function alive(state) {
  const place = byId("alive");
  if (state === "off" && place.dataset.state === "on") say(words("notLive"));
  place.dataset.state = state;
  byId("alive-text").textContent = state ? words(state === "on" ? "live" : "notLive") : "";
}

function unfollow() {
  following?.abort();
}

// Follow what changes in memory until the page is left; a stream that fails is asked for again, ever more seldom.
async function follow() {
  unfollow();
  const own = following = new AbortController();
  const { signal } = own;
  // a server may let a stream go on that it would not let begin any more
  const left = expiryOf(kept(sessionStorage, TOKEN_KEY)) - Date.now();
  if (left > 0 && left < LONGEST_TIMER) {
    const timer = setTimeout(() => { own.abort(); alive("off"); }, left);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }
  for (let wait = FIRST_WAIT; !signal.aborted;) {
    const began = performance.now();
    try {
      // fetch and not EventSource, which sends no token
      const answer = await send("events", { signal, silent: true });
      for await (const revision of revisionsOf(answer.body)) {
        if (signal.aborted) return;
        if (byId("alive").dataset.state !== "on") reached();
        alive("on");
        await renewed(revision);
      }
    } catch (error) {
      // who is not let in is not let in by asking again
      if (!signal.aborted && [401, 403, 404].includes(error.status)) return alive("off");
    }
    if (signal.aborted) return;
    // the server ends each stream after some minutes, which is no failure
    if (performance.now() - began > LASTING) { wait = FIRST_WAIT; continue; }
    alive("off");
    await pause(wait, signal);
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
}

// The revisions of a stream of server-sent events, the last of those that came at once.
async function* revisionsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (text + value).split(/\r?\n\r?\n/);
    text = events.pop();
    const told = events.map(event => /^event: revision$/m.test(event) && /^data: (.*)$/m.exec(event)?.[1]).filter(Boolean).pop();
    if (told) yield JSON.parse(told).revision;
  }
}

const pause = (seconds, signal) => new Promise(resolve => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

// Show what has changed. The view says itself what of it stays as it is.
async function renewed(revision) {
  if (revision === shownRevision) return;
  const first = !shownRevision;
  shownRevision = revision;
  tellWhose();
  // at first the page has just been loaded: a view that knows its revision says whether it is behind
  if (first && view.revision && await view.revision() === revision) return;
  try {
    await view.refresh?.();
  } catch (error) {
    // what cannot be asked now is asked with the next change; what is shown stays
    if (error.name !== "AbortError" && !(error instanceof Refused)) console.error(error);
  }
}
