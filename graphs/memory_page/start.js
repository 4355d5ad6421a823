"use strict";

const VIEWS = { memories: memoriesView, conversations: conversationsView, why: whyView, graph: graphView, skills: skillsView, waiting: waitingView, usage: usageView };
let view = {};

function show(moved) {
  const [name, ...parts] = location.hash.replace(/^#\//, "").split("/").map(one => { try { return decodeURIComponent(one); } catch { return one; } });
  const section = Object.hasOwn(VIEWS, name) ? name : "memories";
  view.leave?.();
  for (const link of document.querySelectorAll("#sections a"))
    if (link.dataset.section !== section) link.removeAttribute("aria-current");
    else { link.setAttribute("aria-current", "page"); link.scrollIntoView({ block: "nearest", inline: "center" }); }
  document.title = `${words(section)} – ${words("brand")}`;
  view = VIEWS[section](byId("main"), parts.filter(Boolean)) ?? {};
  if (!moved) return;
  scrollTo(0, 0);
  byId("main").querySelector("h1")?.focus({ preventScroll: true });
}

// --- from the start ---

byId("language").addEventListener("change", event => {
  keep(localStorage, LANGUAGE_KEY, event.target.value);
  speak(event.target.value);
  alive(byId("alive").dataset.state);
  show(false);
});
byId("who").addEventListener("click", async () => {
  if (!await identify("")) return;
  show(true);
});
// a page that nobody sees follows nothing: the server has few streams for each user
addEventListener("identified", () => follow());
document.addEventListener("visibilitychange", () => { if (document.hidden) following?.abort(); else follow(); });
addEventListener("pagehide", () => following?.abort());
// the address says which section it is, so that the link to the content may not change it
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); byId("main").focus(); });
addEventListener("hashchange", () => show(true));
speak(language);
show(false);
tellWhatStayed();
follow();
