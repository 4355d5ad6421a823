"""Planning: the question to the small model for the steps of a request, and the check of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from langchain_core.messages import BaseMessage

from react_mem.errors import InvalidOutput
from react_mem.memory.language.folding import normalise
from react_mem.memory.llm.answers import as_json, block, flat, object_schema, row
from react_mem.memory.llm.calls import ModelQuestion
from react_mem.memory.merging.transcript import text_of
from react_mem.memory.model.states import TaskStatus
from react_mem.memory.reflect.tasks.task_store import MAX_STEPS, Step, TaskGraph, woven

# A plan as a model writes it -> a task graph, repaired where that is safe, refused with a reason where it is not.

MAX_CHARS = 200
"""Characters of a description: a model that writes more has begun to do the step."""

_MAX_ID = 20
_NO_ID = re.compile(r"[^\w.-]+")
_STATUSES = frozenset(get_args(TaskStatus))


@dataclass(frozen=True)
class Plan:
    """A usable plan.

    Args:
        graph: The task graph; without steps where the request needs none.
        goes_on: True if it continues the known task.
        repairs: Descriptions of the dropped errors.
        proofs: Quoted proof of completion by step id.
    """

    graph: TaskGraph
    goes_on: bool = False
    repairs: tuple[str, ...] = ()
    proofs: Mapping[str, str] = field(default_factory=dict)


def parse(answer: Mapping[str, Any], tools: Collection[str] = ()) -> Plan:
    """Read a plan, repaired where that is safe.

    Args:
        answer: The model's answer:
            `{"goal", "goes_on", "steps": [{"id", "description", "depends_on", "status", "proof", "tool"}]}`.

    Raises:
        InvalidOutput: If it is no plan.

    >>> plan = parse({"goal": "tea", "steps": [{"id": 1, "description": "boil water", "depends_on": [7]}]})
    >>> plan.graph.steps[0].depends_on, plan.repairs
    ((), ('step 1 depends on 7, which there is not',))
    """
    rows = answer.get("steps")
    if not isinstance(rows, list):
        raise InvalidOutput("the model's answer is not a plan: it has no steps", as_json(answer))
    reader = _PlanReader(tools)
    for step in rows[:MAX_STEPS]:
        reader.read(step)
    if rows and not reader.steps:
        raise InvalidOutput("the model's answer is not a plan: none of its steps says what to do", as_json(answer))
    if len(rows) > MAX_STEPS:
        reader.repairs.append(f"more than {MAX_STEPS} steps")
    goal = _line(answer.get("goal"))
    graph, repairs = woven(goal or reader.first(), reader.resolved())
    return Plan(graph, answer.get("goes_on") is True, (*reader.repairs, *repairs), reader.proofs)


def continues(plan: Plan, task: TaskGraph) -> bool:
    """Return true if a plan says that it continues this task and repeats its goal or a step."""
    known = {normalise(task.goal), *(normalise(step.description) for step in task.steps)}
    said = {normalise(plan.graph.goal), *(normalise(step.description) for step in plan.graph.steps)}
    return plan.goes_on and (not plan.graph.steps or not known.isdisjoint(said))


class _PlanReader:
    """Reader of a plan's steps; repeated steps become one."""

    def __init__(self, tools: Collection[str]) -> None:
        self.steps: dict[str, Step] = {}
        self.repairs: list[str] = []
        self.proofs: dict[str, str] = {}
        self._tools = tools
        self._by_text: dict[str, str] = {}
        self._same: dict[str, str] = {}

    def read(self, row: Any) -> None:
        description = _line(row.get("description")) if isinstance(row, Mapping) else ""
        text = normalise(description)
        if not isinstance(row, Mapping) or not text:
            self.repairs.append("a step that says nothing")
            return
        said = _name(row.get("id"))
        if text in self._by_text:
            self._same.setdefault(said, self._by_text[text])
            self.repairs.append(f"step {said or '?'} says what step {self._by_text[text]} says")
            return
        id_ = said
        if not id_ or id_ in self.steps:
            if id_:
                self.repairs.append(f"two steps are called {id_}")
            id_ = next(str(n) for n in range(1, MAX_STEPS + 2) if str(n) not in self.steps)
        self._by_text[text] = id_
        if isinstance(proof := row.get("proof"), str) and proof.strip():
            self.proofs[id_] = proof
        before = row.get("depends_on")
        status = row.get("status", "pending")
        tool = row.get("tool") or ""
        if status not in _STATUSES:
            self.repairs.append(f"step {id_} has a status that there is not")
        if tool and tool not in self._tools:
            self.repairs.append(f"step {id_} names a tool that there is not")
        self.steps[id_] = Step(
            id=id_,
            description=description,
            depends_on=tuple(map(str, before)) if isinstance(before, list) else (),
            status=status if status in _STATUSES else "pending",
            error=_line(row.get("error")) if status == "failed" else "",
            tool=tool if tool in self._tools else "",
        )

    def first(self) -> str:
        return next((step.description for step in self.steps.values()), "")

    def resolved(self) -> list[Step]:
        """Return the steps with dependencies by id: models also name them by description."""
        return [
            Step(**{**vars(step), "depends_on": tuple(map(self._id_of, step.depends_on))})
            for step in self.steps.values()
        ]

    def _id_of(self, name: str) -> str:
        id_ = _name(name)
        return id_ if id_ in self.steps else self._same.get(id_) or self._by_text.get(normalise(_line(name)), id_)


def _name(value: Any) -> str:
    return _NO_ID.sub("_", str(value).strip())[:_MAX_ID] if isinstance(value, str | int) else ""


def _line(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    line = " ".join(value.split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"


_MAX_REQUEST = 2_000
_MAX_SAID = 400
SAID = 6
"""Messages before the request in the prompt."""

_MAX_DONE = 200


def plan_of(
    tools: Mapping[str, str],
    thread: Sequence[BaseMessage],
    request: str,
    known: TaskGraph | None,
    done: Sequence[Mapping[str, Any]] = (),
) -> ModelQuestion[Plan]:
    """Return the question for the plan of a request; the plan has no steps where the request needs none.

    Args:
        tools: Descriptions of the agent's tools by name.
        thread: The messages before the request.
        known: The task so far.
        done: The agent's steps for the request, each with `action`, `arguments`, `observation` and `error`.
    """
    blocks = {
        "tools": [f"{name}: {flat(what, _MAX_DONE)}" for name, what in tools.items()],
        "task": _lines(known),
        "conversation": [f"{m.type}: {flat(text_of(m), _MAX_SAID)}" for m in thread[-SAID:] if text_of(m).strip()],
        "done": [_deed(step) for step in done],
        "request": [flat(request, _MAX_REQUEST)],
    }
    data = "\n".join(block(tag, lines) for tag, lines in blocks.items())
    fields = {"max_steps": MAX_STEPS}
    return ModelQuestion("task_graph", data, _schema(list(tools)), partial(parse, tools=tools), fields)


def _lines(task: TaskGraph | None) -> list[str]:
    if task is None:
        return []
    rows = [{"goal": task.goal}, *task.to_json()["steps"]]
    return [row(one)[:_MAX_REQUEST] for one in rows]


def _deed(step: Mapping[str, Any]) -> str:
    result = f"error: {step['error']}" if step["error"] else str(step["observation"])
    call = f"{step['action']}({json.dumps(step['arguments'], ensure_ascii=False, default=str)})"
    return f"{flat(call, _MAX_DONE)} -> {flat(result, _MAX_DONE)}"


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
    plan = {
        "goes_on": {"type": "boolean"},
        "goal": text,
        "steps": {"type": "array", "items": object_schema(step), "maxItems": MAX_STEPS},
    }
    return object_schema(plan, "plan", "The steps of what the user wants.")
