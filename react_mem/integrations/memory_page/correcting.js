"use strict";

// The form in which a fact is corrected. What was written in it stays until it is saved or left.
function correcting(holder) {
  // what the words will stand in the place of; null once nothing is
  let target = holder.item;
  const field = make("textarea", { value: textOf(target), rows: "3" }), size = bounded(field, MOST_SAID);
  const save = make("button", { class: "main" }, words("save"));
  const leave = () => { if (target) holder.show(target, "edit"); else holder.leave(); };
  const form = make("form", { class: "edit", novalidate: true },
    make("label", {}, make("span", {}, words("editLabel")), field), size.told,
    make("div", { class: "actions" }, save, button("cancel", leave)));

  // Somebody else has changed it: say how it stands now, and leave the choice.
  const conflict = async () => {
    target = await standing(target.id);
    if (target && textOf(target) === field.value.trim()) return holder.show(target, "edit");
    if (target) holder.item = target;
    save.textContent = words(target ? "saveAgain" : "rememberDo");
    complain(form, make("p", {}, words(target ? "changedTo" : "endedMeanwhile")), target && make("blockquote", {}, textOf(target)),
      make("p", {}, words(target ? "changedChoice" : "endedChoice")));
  };

  form.addEventListener("submit", async event => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) { complain(form, words("blank")); return field.focus(); }
    if (target && text === textOf(target)) { complain(form, words("same")); return field.focus(); }
    if (!size.fits()) return;
    complain(form);
    for (const control of form.elements) control.disabled = true;
    try {
      if (target) await correct(holder, target, text);
      else holder.show(await haveRemembered(text), "edit");
    } catch (error) {
      if (isOver(error)) return;
      try {
        if (target && [404, 412].includes(error.status)) await conflict();
        else complain(form, wrong(error));
      } catch (other) {
        complain(form, wrong(other));
      }
    }
    for (const control of form.elements) control.disabled = false;
    if (form.isConnected) field.focus();
  });
  form.addEventListener("keydown", event => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return form;
}

// The fact that is believed now in the place of one; null where none is.
async function standing(id) {
  try {
    const { memory, history } = await ask(`memories/${part(id)}`);
    if (memory.current !== false) return memory;
    const heir = history.findLast(was => was.why === "believed" && was.id !== id);
    return heir ? (await ask(`memories/${part(heir.id)}`)).memory : null;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

// Have something remembered; return the fact.
async function haveRemembered(text) {
  const { memory, outcome } = await ask("memories", { method: "POST", body: { text } });
  notice(words(outcome === "known" ? "known" : "remembered"), { seconds: UNDO_SECONDS });
  return memory;
}

// Put in the fact that is believed now; undoing is correcting it back.
async function correct(holder, before, text, undoing = false) {
  const now = await ask(`memories/${part(before.id)}`, { method: "PATCH", body: { text }, match: before.revision });
  holder.show(now, undoing && !unfocused() ? "" : "edit");
  if (undoing) return notice(words("undone"), { seconds: UNDO_SECONDS });
  const undo = () => correct(holder, holder.item, textOf(before), true)
    .catch(error => { if (!isOver(error)) notice(words("undoFailed", { text: short(textOf(before)), why: meaning(error) })); });
  return notice(words("corrected"), { seconds: UNDO_SECONDS, actions: [["undo", undo, ""]] });
}
