"""Planning: the question to the small model for the steps of a request, whose answer is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage

from react_mem.memory.llm.answers import block, flat, object_schema, row
from react_mem.memory.llm.asking import ModelQuestion
from react_mem.memory.merging.transcript import text_of
from react_mem.memory.reflect.tasks.plan_reading import Plan, parse
from react_mem.memory.reflect.tasks.task_steps import MAX_STEPS, TaskGraph

_MAX_REQUEST = 2_000
_MAX_SAID = 400
SAID = 6
"""Messages before the request that the model is shown: what the agent answered and what was asked for."""

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
        tools: The tools of the agent: what each is called, and what it does.
        thread: What was said before the request.
        request: The request.
        known: The task so far.
        done: What the agent has done for the request: `action`, `arguments`, `observation` and `error` each.
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
