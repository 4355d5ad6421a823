"use strict";

const VIEWS = { memories: memoriesView, conversations: conversationsView, why: whyView, graph: graphView, skills: skillsView, waiting: waitingView, hidden: hiddenView, usage: usageView };
let view = {};

// What the address says: the section, what of it, and what is looked for in it.
function placeOf() {
  const [path, search = ""] = location.hash.replace(/^#\//, "").split("?");
  const [name, ...parts] = path.split("/").map(one => { try { return decodeURIComponent(one); } catch { return one; } });
  return [Object.hasOwn(VIEWS, name) ? name : "memories", parts.filter(Boolean), new URLSearchParams(search)];
}

function show(moved) {
  const [section, parts, asked] = placeOf();
  view.leave?.();
  for (const link of document.querySelectorAll("#sections a"))
    if (link.dataset.section !== section) link.removeAttribute("aria-current");
    else {
      link.setAttribute("aria-current", "page");
      // scrolled by hand: a browser goes on with the keys from what is scrolled into view
      const list = byId("sections"), { left, width } = link.getBoundingClientRect();
      list.scrollLeft += left - list.getBoundingClientRect().left - (list.clientWidth - width) / 2;
    }
  document.title = `${words(section)} – ${words("brand")}`;
  view = VIEWS[section](byId("main"), parts, asked) ?? {};
  if (!moved) return;
  scrollTo(0, 0);
  byId("main").querySelector("h1")?.focus({ preventScroll: true });
}

// --- from the start ---

byId("language").addEventListener("change", event => {
  keep(localStorage, LANGUAGE_KEY, event.target.value);
  speak(event.target.value);
  alive(byId("alive").dataset.state);
  drawWhose();
  show(false);
});
byId("who").addEventListener("click", async () => {
  const before = visitor;
  // for somebody else everything has been shown anew; what the same person is at stays
  if (await identify("", await whatItTakes()) && before === visitor && byId("main").querySelector(".wrong")) show(true);
});
// a page that nobody sees follows nothing: the server has few streams for each user
addEventListener("identified", () => { follow(); tellWhose(); });
byId("pause").addEventListener("click", togglePause);
document.addEventListener("visibilitychange", () => { if (document.hidden) unfollow(); else follow(); });
addEventListener("pagehide", unfollow);
addEventListener("online", () => { reached(); follow(); });
// the address says which section it is, so that the link to the content may not change it
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); byId("main").focus(); });
addEventListener("hashchange", () => {
  // what somebody before has looked for is not looked for again
  if (history.state && history.state.visit !== visit()) history.replaceState(null, "", location.hash.split("?")[0]);
  show(true);
});
speak(language);
show(false);
tellWhatStayed();
tellWhose();
follow();
