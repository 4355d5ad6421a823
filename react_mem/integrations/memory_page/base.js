"use strict";

const byId = id => document.getElementById(id);

// An element. What is text becomes text: nothing that anybody wrote is ever read as markup.
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter(child => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

const button = (key, act, kind = "") => make("button", { type: "button", class: kind, onclick: act }, words(key));
const time = (when, text) => make("time", { datetime: when }, text ?? day(when));

// A length from 0 to 1; what it means stands in words beside it.
function bar(share) {
  const fill = make("span");
  fill.style.width = `${Math.round(100 * Math.max(0, Math.min(1, share)))}%`;
  return make("div", { class: "bar", "aria-hidden": "true" }, fill);
}

const percent = share => words("percent", { percent: Math.round(100 * Math.max(0, Math.min(1, share))) });

function short(text, most = 60) {
  const flat = String(text ?? "").replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

const say = text => { byId("said").textContent = text; };
const part = text => encodeURIComponent(text);

// Kinds of memories: facts come first, then what is told of most.
const FIRST = ["fact", "episode", "knowledge", "skill", "task", "document", "concept", "summary", "message"];
const rankOf = kind => (FIRST.indexOf(kind) + FIRST.length + 1) % (FIRST.length + 1);

function lead(titleKey, textKey) {
  return [make("h1", { tabindex: "-1" }, words(titleKey)), textKey && make("p", { class: "lead" }, words(textKey))].filter(Boolean);
}

// --- the focus, which is never lost ---

// Take whoever uses keys to a place; one that keys do not reach by themselves is named and pressed by nothing.
function focusOn(place) {
  const target = place?.isConnected && !place.disabled ? place : byId("main").querySelector("h1") ?? byId("main");
  if (!target.matches("a[href], button, input, select, textarea, summary, [tabindex]")) target.tabIndex = -1;
  target.focus({ preventScroll: target.matches("h1, main") });
}

const unfocused = () => !document.activeElement || document.activeElement === document.body;

// Take a line out of its list; whoever is at it goes on beside it.
function takeOut(line) {
  if (!line) return;
  const at = line.contains(document.activeElement), beside = line.nextElementSibling ?? line.previousElementSibling;
  line.remove();
  if (at) focusOn(beside?.querySelector("article, a, summary") ?? beside);
}

// --- what is written ---

const charactersOf = text => [...text.trim()].length;

// What a field holds, and how much of it is too much: nothing is cut, and what is too long is not sent. The count is
// told `from` some characters on, in a field of which nobody would think that it has an end.
let fields = 0;
function bounded(field, most, from = 1) {
  const told = make("p", { class: from > 1 ? "hint count" : "hint count always", id: `count-${fields += 1}` });
  field.setAttribute("aria-describedby", told.id);
  let over = false;
  const check = () => {
    const count = charactersOf(field.value), was = over;
    over = count > most;
    told.textContent = over ? words("tooLong", { count, most, over: count - most }) : count >= from ? words("room", { count, most }) : "";
    told.classList.toggle("over", over);
    if (over) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
    if (over && !was) say(told.textContent);
    return !over;
  };
  field.addEventListener("input", check);
  check();
  return { told, check, fits: () => { const fits = check(); if (!fits) { say(told.textContent); field.focus(); } return fits; } };
}

// Say in a form what is wrong with what was written, in place of what was said of it before.
function complain(form, ...told) {
  form.querySelector(".wrong")?.remove();
  const [first] = told;
  if (first) form.append(first instanceof Node && first.matches(".wrong") ? first : make("div", { class: "wrong", role: "alert" }, told));
}
