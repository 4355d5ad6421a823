"use strict";

const MESSAGES = 100;

const addressOfTalk = id => `#/conversations/${part(id)}`;
const nameOfTalk = talk => short(talk.about, 120) || words("untitled", { date: day(talk.first) });

function conversationsView(main, [id]) {
  return id ? oneConversation(main, id) : allConversations(main);
}

function allConversations(main) {
  const list = make("ol", { class: "memories", "aria-label": words("conversations") });
  const line = talk => make("li", {}, make("article", { class: "card" },
    make("h2", { class: "title" }, make("a", { href: addressOfTalk(talk.id) }, nameOfTalk(talk))),
    talk.summary && make("p", { class: "text" }, short(talk.summary, 400)),
    metaOfTalk(talk)));
  const pages = paged(inOrder(list), (cursor, limit) => ask("conversations", { query: { limit, cursor } }), line, "noConversations");
  main.replaceChildren(...lead("conversations", "conversationsLead"), make("div", { class: "waiting-lines" }, list, pages.foot));
  pages.next();
  return { refresh: () => pages.again() };
}

const metaOfTalk = talk => make("p", { class: "meta" }, time(talk.last, moment(talk.last)),
  make("span", {}, words("messagesCount", { count: talk.messages })), talk.agent && make("span", { class: "chip" }, talk.agent));

// A conversation from its summary down to its messages.
function oneConversation(main, id) {
  const path = `conversations/${part(id)}`;
  const place = make("div", { class: "waiting-lines" });
  const asked = (cursor, limit, from) => ask(path, { query: { limit, cursor, first_turn: from } });
  const back = make("p", {}, make("a", { href: "#/conversations" }, words("back")));
  const heading = make("div", {}), tree = make("div", { class: "tree" });
  let pages, known = "";
  // Its name, and its summaries; the branches that are open stay so.
  const about = ({ conversation: talk, summaries }) => {
    heading.replaceChildren(make("h1", { tabindex: "-1" }, nameOfTalk(talk)), metaOfTalk(talk));
    if (known === JSON.stringify(summaries)) return talk;
    known = JSON.stringify(summaries);
    const open = new Set([...tree.querySelectorAll("details[open]")].map(one => one.dataset.id));
    tree.replaceChildren(summaries.length ? branches(id, summaries, asked, 0) : make("p", { class: "dim" }, words("noSummaries")));
    for (const one of tree.querySelectorAll("details")) if (open.has(one.dataset.id)) one.open = true;
    return talk;
  };
  main.replaceChildren(back, place);
  fill(place, async () => {
    let first = await asked(undefined, MESSAGES);
    const talk = about(first);
    const said = make("ol", { class: "messages", "aria-label": words("messages") });
    pages = paged(inOrder(said), async (cursor, limit) => {
      const page = cursor === undefined && first ? first : await asked(cursor, Math.max(limit, MESSAGES));
      first = null;
      if (cursor === undefined) about(page);
      return page.messages;
    }, message => bubble(id, message), "none");
    await pages.next();
    return [
      heading,
      make("div", { class: "actions" },
        make("a", { class: "button", href: `#/why/${part(id)}` }, words("nextPrompt")), forgetTalk(id, talk, path)),
      make("h2", {}, words("summaries")),
      tree,
      make("h2", {}, words("messages")), said, pages.foot,
    ];
  });
  return { refresh: () => pages?.again() };
}

function forgetTalk(id, talk, path) {
  const key = `conversation ${id}`;
  const press = button("forgetConversation", event => {
    press.disabled = true;
    forgetSoon(key, nameOfTalk(talk), {
      path, byKey: event.detail === 0,
      // whoever is elsewhere by then stays there
      done: () => { if (location.hash === addressOfTalk(id)) location.hash = "#/conversations"; else if (location.hash === "#/conversations") show(false); },
      spared: () => { press.disabled = false; if (unfocused() || byId("main").querySelector("h1:focus")) press.focus(); },
    });
  }, "danger");
  press.disabled = doomed.has(key);
  return press;
}

// Summaries, each over those that it was made of; the lowest over their messages, which are asked for when one looks.
function branches(id, summaries, asked, depth) {
  return make("ul", {}, summaries.map(summary => {
    const { text, children, first_turn: first, last_turn: last } = summary;
    const known = Number.isInteger(first) && Number.isInteger(last);
    const below = make("div", {});
    const inside = make("details", { open: depth === 0 && children.length > 0, "data-id": summary.id },
      make("summary", {}, known ? turnsOf(first, last) : words("summaries")), below);
    if (children.length) below.append(branches(id, children, asked, depth + 1));
    else inside.addEventListener("toggle", () => {
      if (!inside.open || below.hasChildNodes()) return;
      fill(below, async () => {
        const { messages } = await asked(undefined, Math.min(200, last - first + 1), first);
        return make("ol", { class: "messages", "aria-label": turnsOf(first, last) },
          messages.items.filter(message => message.turn <= last).map(message => bubble(id, message)));
      });
    });
    return make("li", {}, make("p", { class: "text" }, text), children.length || known ? inside : "");
  }));
}

const turnsOf = (first, last) => words(first === last ? "turn" : "turns", { first: first + 1, last: last + 1 });

// A message; of an answer of a conversation also the way to why it was given.
function bubble(id, message) {
  const answers = id && !["user", "system", "tool"].includes(message.role);
  return make("li", { class: message.role === "user" ? "user" : "other" },
    make("p", {}, message.text),
    make("p", { class: "meta" }, make("span", {}, message.speaker || words(`role_${message.role}`)), time(message.said_at, moment(message.said_at)),
      answers && make("a", { href: `#/why/${part(id)}/${part(message.id)}`, "aria-label": `${words("whyThis")} ${short(message.text)}` }, words("whyThis"))));
}
