"use strict";

const TOKEN_KEY = "react-mem.token", USER_KEY = "react-mem.user", VISIT_KEY = "react-mem.visit";
// What of a token changes when the same person gets another one.
const TIMES = ["exp", "iat", "nbf", "jti", "auth_time"];

let asking = null;
// By what the server knows its users: a token, or the name that they give; empty before that is known.
let takes = "";

// What a token says, where it says anything: a JWT does.
function claimsOf(token) {
  try {
    const [, claims] = token.split(".");
    return JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return null;
  }
}

// Who somebody is, as far as the page can tell: one and the same for a token and the next one of the same person.
function personOf(token, user) {
  const claims = claimsOf(token);
  for (const name of claims ? TIMES : []) delete claims[name];
  return token || user ? JSON.stringify([claims ?? token, user]) : "";
}

const person = () => personOf(kept(sessionStorage, TOKEN_KEY), kept(sessionStorage, USER_KEY));
const expiryOf = token => 1000 * (Number(claimsOf(token)?.exp) || 0);

// Why a token is not let in.
function whyRefused(token) {
  if (!token) return "whoAsked";
  const expiry = expiryOf(token);
  return expiry && expiry < Date.now() ? "whoExpired" : served ? "whoNoMore" : "whoRefused";
}

// Ask who it is. One dialog for everything that waits for it; false where it was left.
function identify(reason, by = takes) {
  takes = by;
  asking ??= new Promise(resolve => {
    const dialog = byId("identity"), before = person();
    byId("identity-why").textContent = [reason && words(reason), !reason && takes && words(`takes_${takes}`),
      doomed.size > 0 && words("whoDoomed", { text: [...doomed.values()].map(text => short(text)).join("; ") })].filter(Boolean).join(" ");
    // what the server does not look at is not asked for
    for (const [name, key] of [["token", TOKEN_KEY], ["user", USER_KEY]]) {
      byId(name).value = kept(sessionStorage, key);
      for (const place of dialog.querySelectorAll(`[data-by=${name}]`)) place.hidden = Boolean(takes) && takes !== name;
    }
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      asking = null;
      byId("identity-why").textContent = "";
      if (dialog.returnValue !== "use") return resolve(false);
      for (const [name, key] of [["token", TOKEN_KEY], ["user", USER_KEY]])
        keep(sessionStorage, key, takes && takes !== name ? "" : byId(name).value.trim());
      // before anything was shown, nobody's memory is on the page
      if ((before || served) && person() !== before) leaveToAnother();
      resolve(true);
      dispatchEvent(new Event("identified"));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

// Nothing of the person who was at the page stays on it, waits on it, or is asked for as somebody else.
function leaveToAnother() {
  const waited = doomed.size > 0;
  visitor.abort();
  visitor = new AbortController();
  served = false;
  stalled.clear();
  doomed.clear();
  clearNotices();
  keep(sessionStorage, LEFT_KEY, "");
  keep(sessionStorage, VISIT_KEY, String(visit() + 1));
  shownRevision = "";
  whose = null;
  drawWhose();
  say("");
  const [section] = placeOf();
  history.replaceState({ visit: visit() }, "", `#/${section}`);
  show(true);
  if (waited) notice(words("sparedByChange"));
}

// How many people this tab has had before: the way back leads to nothing of theirs.
const visit = () => Number(kept(sessionStorage, VISIT_KEY)) || 0;

// Find out by what the server knows its users: it is asked as nobody.
async function whatItTakes() {
  if (takes) return takes;
  try {
    const answer = await fetch(addressOf("memories", { limit: 1 }, ""), { cache: "no-store" });
    return answer.status === 401 ? "token" : answer.ok || answer.status === 404 ? "user" : "";
  } catch {
    return "";
  }
}

// --- whose memory it is, and its pause ---

let whose = null;

// Say whose memory is shown and whether it is paused, as the server knows them; of nobody nothing is said.
async function tellWhose(told) {
  const own = visitor;
  try { whose = await (told ?? ask("pause", { silent: true })); } catch (error) { if (isOver(error)) return; whose = null; }
  if (own === visitor) drawWhose();
}

function drawWhose() {
  const { name, email } = claimsOf(kept(sessionStorage, TOKEN_KEY)) ?? {};
  byId("whose").textContent = whose ? words("whose", { name: name ?? email ?? whose.user }) : "";
  byId("pause").hidden = !whose;
  byId("pause").textContent = words(whose?.paused ? "resume" : "pauseDo");
  byId("paused").hidden = !whose?.paused;
}

async function togglePause() {
  const paused = !whose.paused;
  try {
    await tellWhose(await ask("pause", { method: "PUT", body: { paused } }));
    say(words(paused ? "pausedNow" : "resumedNow"));
  } catch (error) {
    if (!isOver(error)) notice(meaning(error));
  }
}
