"""The small model's plan of a request: one call, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from react_mem.errors import InvalidOutput
from react_mem.memory.llm.fencing import block, flat, row
from react_mem.memory.llm.form import FormModel
from react_mem.memory.llm.schema import object_schema
from react_mem.memory.merging.transcript import text_of
from react_mem.memory.reflect.tasks.reading import Plan, Refusal, parse
from react_mem.memory.reflect.tasks.task_graph import MAX_STEPS, TaskGraph
from react_mem.prompts import load_prompt

_MAX_REQUEST = 2_000
_MAX_SAID = 400
SAID = 6
"""Messages before the request that the model is shown: what the agent answered and what was asked for."""

_MAX_DONE = 200


class Planner:
    """Asks a model for plans. Building reads a file, so not on an event loop.

    Args:
        model: A chat model whose `with_structured_output` knows `method="json_schema"`. It is not changed; for this
            call its retries and its streaming are off.
        tools: The tools of the agent: what each is called, and what it does.
        stand_ins: The models to ask in its place where it fails, in order.
    """

    def __init__(self, model: BaseChatModel, tools: Mapping[str, str], stand_ins: Sequence[BaseChatModel] = ()) -> None:
        self._model = FormModel(model, "planning", stand_ins)
        self._instructions = load_prompt("task_graph").format(max_steps=MAX_STEPS)
        self._tools = tools
        self._schema = _schema(list(tools))

    async def plan(
        self,
        thread: Sequence[BaseMessage],
        request: str,
        known: TaskGraph | None,
        done: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> Plan:
        """Ask for the plan of a request.

        Args:
            thread: What was said before it.
            request: The request.
            known: The task so far.
            done: What the agent has done for the request: `action`, `arguments`, `observation` and `error` each.
            seconds: How long to wait.

        Returns:
            The plan; its graph has no steps where the request needs none.

        Raises:
            ExtractionError: If the model cannot be reached, refuses, is late, or says nothing that can be read.
        """
        said = await self._model.fill(
            self._instructions,
            self._briefing(thread, request, known, done),
            self._schema,
            seconds=seconds,
            run_name="task_graph",
        )
        plan = parse(said, self._tools)
        if isinstance(plan, Refusal):
            raise InvalidOutput(f"the model's answer is no plan: {plan.reason}", raw=json.dumps(said, default=str))
        return plan

    def _briefing(
        self,
        thread: Sequence[BaseMessage],
        request: str,
        known: TaskGraph | None,
        done: Sequence[Mapping[str, Any]],
    ) -> str:
        blocks = {
            "tools": [f"{name}: {flat(what, _MAX_DONE)}" for name, what in self._tools.items()],
            "task": _lines(known),
            "conversation": [f"{m.type}: {flat(text_of(m), _MAX_SAID)}" for m in thread[-SAID:] if text_of(m).strip()],
            "done": [_deed(step) for step in done],
            "request": [flat(request, _MAX_REQUEST)],
        }
        return "\n".join(block(tag, lines) for tag, lines in blocks.items())


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
