"use strict";

// A section that is read whole: what was learnt, what waits, how much there is.
function wholeView(key, path, drawn) {
  return main => {
    const place = make("div", { class: "waiting-lines" });
    main.replaceChildren(...lead(key, `${key}Lead`), place);
    let shown = "";
    // what a server does not tell is no error of whoever looks
    const asked = () => ask(path).catch(error => {
      if ([403, 404].includes(error.status)) return null;
      throw error;
    });
    const draw = told => {
      shown = JSON.stringify(told);
      return told ? drawn(told) : make("p", { class: "empty" }, words("notTold"));
    };
    fill(place, async () => draw(await asked()));
    return { refresh: async () => {
      const told = await asked();
      if (JSON.stringify(told) !== shown) await fill(place, async () => draw(told));
    } };
  };
}

// A table that a narrow window scrolls and not the page; it can be scrolled by keys.
function table(key, heads, rows) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words(key) }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map(([head, kind]) => make("th", { scope: "col", class: kind }, words(head))))),
    make("tbody", {}, rows)));
}

const skillsView = wholeView("skills", "skills", ({ items }) => items.length
  ? table("skills", [["skill"], ["uses", "number"], ["successes", "number"], ["rate"], ["skillState"]], items.map(skill => make("tr", {},
    make("th", { scope: "row" }, make("a", { href: `#/memories/${part(skill.id)}` }, short(skill.title || skill.text, 200)),
      make("p", { class: "dim" }, short(skill.text, 300))),
    make("td", { class: "number" }, number(skill.uses)),
    make("td", { class: "number" }, number(skill.successes)),
    make("td", {}, rateOf(skill)),
    make("td", {}, words(`skill_${skill.state}`)))))
  : make("p", { class: "empty" }, words("noSkills")));

// How often a skill has worked, once it was used at all.
function rateOf({ uses, successes }) {
  if (!uses) return make("span", { class: "dim" }, words("never"));
  return [make("span", {}, percent(successes / uses)), bar(successes / uses)];
}

const waitingView = wholeView("waiting", "pending", ({ items }) => items.length
  ? table("waiting", [["waitsWhat"], ["waitsSince"], ["waitsWhy"]], items.map(turn => make("tr", {},
    make("th", { scope: "row" }, make("a", { href: addressOfTalk(turn.session_id) }, short(turn.text, 200) || words("untitled", { date: day(turn.since) }))),
    make("td", {}, time(turn.since, moment(turn.since))),
    make("td", {}, turn.why ? short(turn.why, 300) : words("waitsTurn"),
      turn.parked && [" ", make("span", { class: "chip warn" }, words("parked"))],
      turn.attempts > 0 && make("p", { class: "dim" }, words("attempts", { count: turn.attempts })),
      !turn.parked && turn.retry_at && make("p", { class: "dim" }, words("retryAt", { date: moment(turn.retry_at) }))))))
  : make("p", { class: "empty" }, words("noWaiting")));

const hiddenView = wholeView("hidden", "hidden", ({ items }) => items.length
  ? table("hidden", [["waitsWhat"], ["erasedAt"], ["details"]], items.map(one => make("tr", {},
    make("th", { scope: "row" }, short(one.texts.join(" "), 300)),
    make("td", {}, time(one.erase_at, moment(one.erase_at))),
    make("td", {}, make("div", { class: "actions" },
      button("undo", event => decide(event.currentTarget, `hidden/${part(one.id)}/undo`, "POST", "broughtBack"), "main"),
      button("eraseNow", event => decide(event.currentTarget, `hidden/${part(one.id)}`, "DELETE", "erased"), "danger"))))))
  : make("p", { class: "empty" }, words("noHidden")));

// Bring back what is hidden, or erase it; its line goes.
async function decide(press, path, method, done) {
  press.disabled = true;
  try {
    await ask(path, { method });
    press.closest("tr").remove();
    notice(words(done), { seconds: UNDO_SECONDS });
  } catch (error) {
    press.disabled = false;
    if (!isOver(error)) notice(meaning(error));
  }
}

const usageView = wholeView("usage", "usage", used => [
  table("usage", [["what"], ["count", "number"]], [
    ...Object.entries(used.kinds).sort((a, b) => b[1] - a[1]).map(([kind, count]) => rowOf(words(kind ? `kind_${kind}` : "kind_other"), number(count))),
    rowOf(words("bytes"), words("kilobytes", { count: Math.ceil(used.bytes / 1000) })),
    rowOf(words("waiting"), number(used.waiting)),
    rowOf(words("parked"), number(used.parked)),
  ]),
  make("h2", {}, words("exportTitle")), make("p", { class: "dim" }, words("exportLead")),
  make("div", { class: "actions" }, ["jsonl", "html", "markdown"].map(form => button(`export_${form}`, event => take(form, event.currentTarget)))),
  make("h2", {}, words("eraseTitle")), make("p", { class: "dim" }, words("eraseLead")),
  button("eraseAll", askToErase, "danger"),
  used.health && healthOf(used.health),
]);

// Ask whether everything is to be forgotten: it cannot be undone.
function askToErase() {
  const dialog = make("dialog", { "aria-labelledby": "erase-title" }, make("form", { method: "dialog" },
    make("h2", { id: "erase-title" }, words("eraseAll")), make("p", {}, byId("whose").textContent), make("p", {}, words("eraseWarn")),
    make("label", { class: "sure" }, make("input", { type: "checkbox", required: true }), " ", words("eraseSure")),
    make("div", { class: "actions" }, make("button", { value: "erase", class: "danger" }, words("eraseAll")),
      make("button", { value: "leave", formnovalidate: true }, words("cancel")))));
  dialog.addEventListener("close", () => { dialog.remove(); if (dialog.returnValue === "erase") eraseAll(); }, { once: true });
  document.body.append(dialog);
  dialog.showModal();
}

// Have everything forgotten, and show the receipt, which stays until the page is left.
async function eraseAll() {
  doomed.clear();
  clearNotices();
  const place = make("section", { id: "receipt", tabindex: "-1", "aria-labelledby": "receipt-title" });
  byId("receipt")?.remove();
  byId("main").append(place);
  focusOn(place);
  await fill(place, async () => {
    const answer = await ask("erase", { method: "POST", body: { confirm: "erase everything" } });
    const removed = Object.entries(answer.receipt.receipt.removed ?? {}).filter(([kind]) => kind !== "thread");
    const save = () => offer(new Blob([JSON.stringify(answer, null, 2)], { type: "application/json" }), "receipt.json");
    say(words("erasedAll"));
    return [make("h2", { id: "receipt-title" }, words("receipt")), make("p", {}, words(answer.problems.length ? "erasedLess" : "erasedAll")),
      behind(answer.problems.join("; ")),
      table("receipt", [["what"], ["count", "number"]], [...removed.map(([kind, ids]) => rowOf(words(`kind_${kind}`), number(ids.length))),
        rowOf(words("threads"), number(answer.threads.length))]),
      make("div", { class: "actions" }, button("saveReceipt", save))];
  });
}

const rowOf = (name, ...values) => make("tr", {}, make("th", { scope: "row" }, name), values.map(value => make("td", { class: "number" }, value)));

// How the memory of the server is; only an administrator is told.
function healthOf({ queue, ...parts }) {
  const since = queue?.oldest ? ` (${words("waitsSince")}: ${moment(queue.oldest)})` : "";
  return [make("h2", {}, words("health")),
    table("health", [["what"], ["works"], ["details"]], [
      ...Object.entries(parts).map(([name, { ok, detail, seconds }]) => make("tr", {},
        make("th", { scope: "row" }, words(`health_${name}`)),
        make("td", {}, ok ? words("yes") : make("span", { class: "chip warn" }, words("no"))),
        make("td", {}, detail, seconds ? make("p", { class: "dim" }, words("milliseconds", { count: Math.round(1000 * seconds) })) : ""))),
      queue && make("tr", {}, make("th", { scope: "row" }, words("health_queue")),
        make("td", {}, queue.parked ? make("span", { class: "chip warn" }, words("no")) : words("yes")),
        make("td", {}, words("queueOf", { waiting: queue.waiting, failed: queue.failed, parked: queue.parked }) + since)),
    ].filter(Boolean))];
}

// A file of everything: it is fetched, since a link would send no token.
async function take(form, press) {
  press.disabled = true;
  try {
    const answer = await send("export", { query: { format: form } });
    const name = /filename="([\w.-]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "memory";
    offer(await answer.blob(), name);
  } catch (error) {
    if (!isOver(error)) notice(meaning(error));
  }
  press.disabled = false;
}

function offer(file, name) {
  const address = URL.createObjectURL(file);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  say(words("exported", { name }));
}
