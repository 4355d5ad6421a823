"""Planning: the question to the small model for the steps of a request, the check of its answer, and its proofs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, get_args

from langchain_core.messages import BaseMessage, ToolMessage

from react_mem.errors import InvalidOutput
from react_mem.memory.language.clauses import cut
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.hedging import has_sign, is_denied
from react_mem.memory.language.statements import before_question, is_question, sentences
from react_mem.memory.language.terms import index_terms
from react_mem.memory.language.times import named_periods
from react_mem.memory.llm.answers import as_json, block, flat, object_schema, row
from react_mem.memory.llm.calls import ModelQuestion
from react_mem.memory.merging.authors import is_users
from react_mem.memory.merging.transcript import text_of
from react_mem.memory.model.records import now
from react_mem.memory.model.states import TaskStatus
from react_mem.memory.reflect.task_store import MAX_STEPS, Step, TaskGraph, woven

# A plan as a model writes it -> a task graph, repaired where that is safe, refused with a reason where it is not.

MAX_CHARS = 200  # Characters of a description: a model that writes more has begun to do the step
_MAX_ID = 20
_NO_ID = re.compile(r"[^\w.-]+")
_STATUSES = frozenset(get_args(TaskStatus))


@dataclass(frozen=True)
class Plan:
    """A usable plan; its graph has no steps where the request needs none."""

    graph: TaskGraph
    goes_on: bool = False  # with the known task
    repairs: tuple[str, ...] = ()  # of errors that were dropped
    proofs: Mapping[str, str] = field(default_factory=dict)  # quotes by step id


def parse(answer: Mapping[str, Any], tools: Collection[str] = ()) -> Plan:
    """Read a model's plan, repaired where that is safe; steps that say the same become one. Else InvalidOutput."""
    rows = answer.get("steps")
    if not isinstance(rows, list):
        raise InvalidOutput("the model's answer is not a plan: it has no steps", as_json(answer))
    steps: dict[str, Step] = {}
    repairs: list[str] = []
    proofs: dict[str, str] = {}
    by_text: dict[str, str] = {}
    same: dict[str, str] = {}
    for said in rows[:MAX_STEPS]:
        description = _line(said.get("description")) if isinstance(said, Mapping) else ""
        text = normalise(description)
        if not isinstance(said, Mapping) or not text:
            repairs.append("a step that says nothing")
            continue
        id_ = _name(said.get("id"))
        if text in by_text:
            same.setdefault(id_, by_text[text])
            repairs.append(f"step {id_ or '?'} says what step {by_text[text]} says")
            continue
        if not id_ or id_ in steps:
            if id_:
                repairs.append(f"two steps are called {id_}")
            id_ = next(str(n) for n in range(1, MAX_STEPS + 2) if str(n) not in steps)
        by_text[text] = id_
        if isinstance(proof := said.get("proof"), str) and proof.strip():
            proofs[id_] = proof
        before, status, tool = said.get("depends_on"), said.get("status", "pending"), said.get("tool") or ""
        if status not in _STATUSES:
            repairs.append(f"step {id_} has a status that there is not")
        if tool and tool not in tools:
            repairs.append(f"step {id_} names a tool that there is not")
        steps[id_] = Step(
            id=id_,
            description=description,
            depends_on=tuple(map(str, before)) if isinstance(before, list) else (),
            status=status if status in _STATUSES else "pending",
            error=_line(said.get("error")) if status == "failed" else "",
            tool=tool if tool in tools else "",
        )
    if rows and not steps:
        raise InvalidOutput("the model's answer is not a plan: none of its steps says what to do", as_json(answer))
    if len(rows) > MAX_STEPS:
        repairs.append(f"more than {MAX_STEPS} steps")

    def id_of(name: str) -> str:
        # models also name a step by its description
        known = _name(name)
        return known if known in steps else same.get(known) or by_text.get(normalise(_line(name)), known)

    resolved = [replace(step, depends_on=tuple(map(id_of, step.depends_on))) for step in steps.values()]
    first = next((step.description for step in resolved), "")
    graph, dropped = woven(_line(answer.get("goal")) or first, resolved)
    return Plan(graph, answer.get("goes_on") is True, (*repairs, *dropped), proofs)


def _name(value: Any) -> str:
    return _NO_ID.sub("_", str(value).strip())[:_MAX_ID] if isinstance(value, str | int) else ""


def _line(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    line = " ".join(value.split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"


_MAX_REQUEST = 2_000
_MAX_SAID = 400
SAID = 6  # Messages before the request in the prompt
_MAX_TOOL = 200


def plan_of(
    tools: Mapping[str, str], thread: Sequence[BaseMessage], request: str, known: TaskGraph | None
) -> ModelQuestion[Plan]:
    """Return the question for the plan of a request, after the messages before it."""
    task = [{"goal": known.goal}, *known.to_json()["steps"]] if known is not None else []
    blocks = {
        "tools": [f"{name}: {flat(what, _MAX_TOOL)}" for name, what in tools.items()],
        "task": [row(one)[:_MAX_REQUEST] for one in task],
        "conversation": [f"{m.type}: {flat(text_of(m), _MAX_SAID)}" for m in thread[-SAID:] if text_of(m).strip()],
        "request": [flat(request, _MAX_REQUEST)],
    }
    data = "\n".join(block(tag, lines) for tag, lines in blocks.items())
    fields = {"max_steps": MAX_STEPS}
    return ModelQuestion("task_graph", data, _schema(list(tools)), partial(parse, tools=tools), fields)


def _schema(tools: Sequence[str]) -> dict[str, Any]:
    text = {"type": "string"}
    step = {
        "id": text,
        "description": text,
        "tool": {"type": "string", "enum": ["", *tools]},
        "depends_on": {"type": "array", "items": text},
        "status": {"type": "string", "enum": ["pending", "done", "failed", "skipped"]},
        "proof": text,
    }
    steps = {"type": "array", "items": object_schema(step), "maxItems": MAX_STEPS}
    plan = {"goes_on": {"type": "boolean"}, "goal": text, "steps": steps}
    return object_schema(plan, "plan", "The steps of what the user wants.")


# Proof that a step is done: an exact quote of the user or of a tool's result. A planner's word alone proves nothing.
# A quote must be whole clauses of the conversation, since a fragment may say the opposite, and outside questions. Each
# stretch of words proves one step only.

# Words used as proof: by message id, pairs of the first word and the word after the last
Taken = Mapping[str, Sequence[Sequence[int]]]

_MAX_CHARS = 2_000  # Characters of a message, as many as a planner sees of a request
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class TaskEvidence:
    """A message as evidence: the user's, or else a tool's result."""

    id: str
    text: str
    by_user: bool

    @cached_property
    def clauses(self) -> tuple[list[str], list[tuple[int, int]]]:
        """The words of the message, and the bounds of its clauses among them; questions have empty bounds."""
        found = sentences(_folded(self.text))
        if len(self.text) > _MAX_CHARS:
            del found[-1:]  # the rest of it may say the opposite
        words: list[str] = []
        bounds: list[tuple[int, int]] = []
        for sentence in found:
            told = before_question(sentence) if self.by_user and is_question(sentence) else sentence
            end = len(words) + len(_words(sentence))
            for clause in cut(told):
                begin = len(words)
                words += _words(clause.text)
                bounds += [(begin, len(words))] if len(words) > begin else []
            words += [""] * (end - len(words))
        return words, bounds


def evidence_in(messages: Sequence[BaseMessage]) -> list[TaskEvidence]:
    """Return the messages of the user and the results of tools, the latest first; the agent's words are no evidence."""
    found = []
    for message in reversed(messages):
        by_user = is_users(message)
        if by_user or (isinstance(message, ToolMessage) and message.status != "error"):
            # one character more tells that it goes on
            found.append(TaskEvidence(str(message.id), text_of(message)[: _MAX_CHARS + 1], by_user))
    return found


def all_taken(taken: Taken, message: BaseMessage) -> Taken:
    """Mark a whole message as used: the request of a task proves none of its steps."""
    return {**taken, str(message.id): [[0, _MAX_CHARS]]}


def proven(
    plan: Plan, known: TaskGraph | None, evidence: Sequence[TaskEvidence], taken: Taken
) -> tuple[Plan, dict[str, list[list[int]]]]:
    """Check the plan's claims of completion. CPU-bound on long messages: run in a thread.

    The user's words prove any step, unless they deny it or plan it. A tool's result proves only a step without a tool
    of its own; for the others the call itself counts. Completed steps of the known task need no new proof; words
    `taken` before prove nothing more.

    Returns:
        The plan, with unproven claims reset and listed in its repairs, and the words used as proof now.
    """
    steps_before = known.steps if known else ()
    done = {normalise(step.description) for step in steps_before if step.status == "done"}
    by_tool = {key for step in steps_before if step.tool for key in (step.id, normalise(step.description))}
    spans = {id_: [list(span) for span in stretches] for id_, stretches in taken.items()}
    steps: list[Step] = []
    repairs = list(plan.repairs)
    for step in plan.graph.steps:
        text = normalise(step.description)
        if step.status == "done" and text not in done:
            tool = bool(step.tool) or not by_tool.isdisjoint((step.id, text))
            proof = plan.proofs.get(step.id, "")
            past = _tells_past(proof, step.description)
            allowed = [said for said in evidence if (past if said.by_user else not tool)]
            if not _take(proof, allowed, spans):
                repairs.append(f"nothing shows that step {step.id} is done")
                step = replace(step, status="pending")
        steps.append(step)
    return replace(plan, graph=replace(plan.graph, steps=tuple(steps)), repairs=tuple(repairs)), spans


def _tells_past(quote: str, description: str) -> bool:
    """Return true if the user's words tell of something done: not of a plan, of a day to come, or that it is not done.

    >>> _tells_past("I moved the boxes", "Move them"), _tells_past("The lease is not signed yet", "Sign the lease")
    (True, False)
    """
    today = now()
    to_come = any(period.start > today.date() for period in named_periods(quote, today)[:1])
    is_open = has_sign(quote, "plans", "supposes", "conditions") or (is_denied(quote) and not is_denied(description))
    return not (to_come or is_open)


def _take(quote: str, evidence: Sequence[TaskEvidence], taken: dict[str, list[list[int]]]) -> bool:
    """Mark the quoted words as used; return false if no unused occurrence exists."""
    wanted = _words(_folded(quote))
    if not wanted:
        return False
    for said in evidence:
        words, bounds = said.clauses
        ends = {end for _, end in bounds}
        for first, _ in bounds:
            end = first + len(wanted)
            spans = taken.setdefault(said.id, [])
            is_free = all(end <= begun or first >= ended for begun, ended in spans)
            if end in ends and words[first:end] == wanted and is_free:
                spans.append([first, end])
                return True
    return False


def _folded(text: str) -> str:
    # one character may become many; compatibility forms stay until the clauses are cut: "，" parts them, "," need not
    return unicodedata.normalize("NFC", text[:_MAX_CHARS])[:_MAX_CHARS]


def _words(text: str) -> list[str]:
    return [unicodedata.normalize("NFKC", word).casefold() for word in _WORD.findall(text)]


# Progress of a task by its agent's steps: told without a model where a tool takes a step.

_MAX_ERROR = 200


def observed(task: TaskGraph, steps: Sequence[Mapping[str, Any]]) -> tuple[TaskGraph, str | None]:
    """Update a task by the agent's tool calls; return it with the id of the last step worked on, or None."""
    current = None
    for done in steps:
        step = _taken(task, done)
        if step is None:
            continue
        current = step.id
        error = " ".join(str(done["error"]).split())[:_MAX_ERROR]
        task = task.marked(step.id, "failed" if error else "done", error)
    return task, current


def _taken(task: TaskGraph, done: Mapping[str, Any]) -> Step | None:
    """Return the step of a tool call: of the steps with this tool, the one with most words in common."""
    ready = task.frontier()
    same = [step for step in task.steps if step.tool == done["action"] and (step.is_over or step in ready)]
    if not same:
        return None
    said = set(index_terms(" ".join(map(str, done["arguments"].values()))))
    # a call that speaks of what is done already is that step's once more; where no word tells, the next one is meant
    best = max(same, key=lambda step: (len(said & set(index_terms(step.description))), not step.is_over))
    return None if best.is_over else best
