"use strict";

const MOST_SHOWN = 40;
// Characters of a message that is tried, as the server takes it; messages among which answers are looked for, and how many are named.
const MOST_TRIED = 20_000, LATEST = 40, ANSWERS = 6;

// Why an answer was given, or what the prompt for a message would be; `#/why/<conversation>/<answer>`, or `#/why`.
function whyView(main, [talk, answer]) {
  if (talk && answer) return whyAnswer(main, talk, answer);
  const place = make("div", {});
  const field = make("textarea", { rows: "2" }), size = bounded(field, MOST_TRIED, MOST_TRIED / 2);
  const press = make("button", { class: "main" }, words("explain"));
  const form = make("form", { class: "edit", novalidate: true },
    make("label", {}, make("span", {}, words("message")), field), size.told, make("div", { class: "actions" }, press));
  field.addEventListener("keydown", event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const message = field.value.trim();
    complain(form);
    if (!message) { complain(form, words("blankTold")); return field.focus(); }
    if (!size.fits()) return;
    press.disabled = true;
    await fill(place, async () => promptOf(await ask("context", { method: "POST", body: { message, thread_id: talk } })));
    press.disabled = false;
    place.querySelector("h2")?.focus();
  });
  const goesOn = talk ? [make("p", {}, make("a", { href: addressOfTalk(talk) }, words("inConversation")))] : [];
  const answers = make("div", {});
  let shown = "";
  main.replaceChildren(...lead("why", "whyLead"), make("h2", {}, words("latestAnswers")), answers,
    make("h2", {}, words("tryMessage")), make("p", { class: "dim" }, words("tryLead")), ...goesOn, form, place);
  const draw = items => { shown = JSON.stringify(items); return listOfAnswers(items); };
  fill(answers, async () => draw(await latestAnswers()));
  return { refresh: async () => {
    const items = await latestAnswers();
    if (JSON.stringify(items) !== shown) await fill(answers, async () => draw(items));
  } };
}

// The last answers of all conversations.
async function latestAnswers() {
  const { items } = await ask("memories", { query: { kind: "message", limit: LATEST } });
  return items.filter(item => item.origin === "assistant" && item.session_id).slice(0, ANSWERS);
}

// Answers, each with the way to why it was given.
function listOfAnswers(items) {
  if (!items.length) return make("p", { class: "dim" }, words("noAnswers"));
  return make("ul", { class: "plain" }, items.map(item => make("li", {},
    make("a", { href: `#/why/${part(item.session_id)}/${part(item.id)}` }, short(textOf(item), 140)), " ",
    time(item.created_at, moment(item.created_at)))));
}

// The parts of a prompt, each with what it takes of what it may, and with what stands in it.
function promptOf({ parts, tokens, limit, cut, missing, prompt }) {
  return [
    make("h2", { tabindex: "-1" }, words("parts")),
    make("p", { class: "dim" }, words("tokensOf", { tokens, limit })), bar(tokens / Math.max(limit, 1)),
    make("p", { class: "dim" }, words("sharesOf", { tokens })),
    notAsked(missing),
    cut > 0 && make("p", { class: "wrong" }, words("cutOff", { count: cut })),
    make("div", { class: "prompt" }, parts.map(one => partOf(one, Math.max(tokens, 1)))),
    make("details", { class: "whole" }, make("summary", {}, words("wholePrompt")),
      prompt.map(({ role, content }) => [make("h3", {}, words(`prompt_${role}`)), make("pre", { tabindex: "0" }, content)])),
  ];
}

function partOf({ name, tokens, dropped, place, text, memories }, all) {
  const below = make("div", { class: "inside" });
  const inside = make("details", { class: "part", "data-part": name },
    make("summary", {}, make("span", { class: "part-name" }, words(`part_${name}`)), bar(tokens / all),
      make("span", { class: "number dim" }, words("tokensShare", { tokens, share: percent(tokens / all) }))), below);
  inside.addEventListener("toggle", () => {
    if (!inside.open || below.hasChildNodes()) return;
    fill(below, async () => [
      make("p", { class: "meta" }, make("span", {}, `${words("place")}: ${words(`place_${place}`)}`),
        dropped > 0 && make("span", { class: "chip warn" }, words("dropped", { count: dropped }))),
      memories.length > 0 && [make("h3", {}, words("inIt")), await held(memories)],
      text && make("pre", { tabindex: "0" }, text),
    ]);
  });
  return inside;
}

// Memories by their ids, as they are now. One that is no memory of its own, or is gone, has no card.
async function held(ids) {
  const found = await Promise.all(ids.slice(0, MOST_SHOWN).map(async id => {
    try {
      return (await ask(`memories/${part(id)}`)).memory;
    } catch (error) {
      if (error.status === 404) return null;
      throw error;
    }
  }));
  const gone = found.filter(one => !one).length;
  return [
    cards(found.filter(Boolean)),
    ids.length > MOST_SHOWN && make("p", { class: "dim" }, words("shown", { count: MOST_SHOWN, total: ids.length })),
    gone > 0 && make("p", { class: "dim" }, words("goneSince", { count: gone })),
  ];
}

const cards = items => make("ol", { class: "memories", "aria-label": words("inIt") }, items.map(item => make("li", {}, card(item))));

function whyAnswer(main, talk, id) {
  const place = make("div", { class: "waiting-lines" });
  main.replaceChildren(...lead("why", "answerLead"), make("p", {}, make("a", { href: addressOfTalk(talk) }, words("back"))), place);
  fill(place, async () => {
    const { question, answer, used, gone } = await ask(`context/${part(talk)}/${part(id)}`);
    return [
      make("ol", { class: "messages", "aria-label": words("messages") }, [question, answer].filter(Boolean).map(message => bubble("", message))),
      make("h2", {}, words("inIt")),
      used.length ? cards(used) : !gone && make("p", { class: "dim" }, words("usedNone")),
      gone > 0 && make("p", { class: "dim" }, words("goneSince", { count: gone })),
    ];
  });
  return {};
}
