"use strict";

// --- what is behind it ---

async function detailsOf(shown) {
  const { memory, history, provenance, derived, links, doubts } = await ask(`memories/${part(shown.id)}`);
  const before = history.filter(was => was.why !== "believed" || was.text !== memory.text);
  const block = (key, list) => list.length > 0 && [make("h2", {}, words(key)), make("ul", { class: "plain" }, list)];
  const linked = item => make("a", { href: `#/memories/${part(item.id)}` }, short(textOf(item), 140) || item.id);
  return [
    memory.text.length > textOf(shown).length && make("p", { class: "text" }, memory.text),
    make("h2", {}, words("wordsOfIt")),
    provenance.length ? provenance.map(said => make("blockquote", {},
      quoted(said.text, said.quote),
      make("p", { class: "meta" }, said.role && words(`role_${said.role}`), said.said_at && time(said.said_at, moment(said.said_at))),
    )) : make("p", { class: "dim" }, words("noWords")),
    block("history", before.map(was => make("li", {}, `${was.text} `, make("span", { class: "dim" },
      [was.since && words("since", { date: day(was.since) }), was.until && words("until", { date: day(was.until) }),
        words(`why_${was.why.replace(" ", "_")}`)].filter(Boolean).join(", "))))),
    block("doubts", doubts.map(doubt => make("li", {}, make("a", { href: `#/memories/${part(doubt.id)}` }, short(doubt.text, 300) || doubt.id),
      make("span", { class: "dim" }, ` ${day(doubt.since)}`)))),
    block("derived", derived.map(item => make("li", {}, make("span", { class: "chip" }, words(`one_${kindOf(item)}`)), " ", linked(item)))),
    block("links", links.map(link => make("li", {}, make("span", { class: "dim" }, words(`${link.direction === "in" ? "back" : "link"}_${link.relation}`)), " ", linked(link.memory)))),
  ];
}

// A text with the part of it marked that counts.
function quoted(text, quote) {
  const whole = String(text ?? quote ?? "");
  const at = quote ? whole.indexOf(quote) : -1;
  if (at < 0) return make("span", {}, whole);
  return make("span", {}, whole.slice(0, at), make("mark", {}, quote), whole.slice(at + quote.length));
}
