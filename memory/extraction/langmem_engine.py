"""The engine `langmem`: LangMem's thread extractor, for models that call tools better than they fill in schemas.

LangMem decides how the model is asked and how an invalid call is patched. What it would lose on the way (a second tool
call, an answer in text, an error that it swallows) is kept by the callback that sees every call.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import var_child_runnable_config
from langmem import create_thread_extractor

from memory.extraction.answers import Answer, as_answer, read_answer
from memory.extraction.briefing import Briefing
from memory.extraction.calls import HIDDEN, Calls, is_broken_off, refusal_of
from memory.extraction.engine import Engine
from memory.extraction.errors import ModelRejected
from memory.extraction.proposal import Proposal
from prompts import load_prompt

_LISTS = ("facts", "others", "profile")


class LangMemExtractor(Engine):
    """Asks for a tool call through LangMem.

    Args:
        model: A chat model that calls tools.
        profile: The fields of the user's profile, with what each holds; empty: the model names them.
    """

    def __init__(self, model: BaseChatModel, profile: Mapping[str, str]) -> None:
        super().__init__(model, profile)
        self._repair = load_prompt("extract_repair")
        prompt = self.instructions().replace("{", "{{").replace("}", "}}")
        create: Any = create_thread_extractor  # its annotation knows models by name only; it takes them as well
        self._extractor: Runnable[Any, Any] = create(
            self.model, schema=Proposal, instructions=f"{prompt}\n\n{{keywords}}\n\n{{memories}}\n\n{{repair}}"
        )

    async def ask(self, briefing: Briefing, calls: Calls, failed: Answer | None) -> Answer:
        """Ask for one tool call, which LangMem may patch. See `Engine.ask`."""
        material = {
            "messages": [HumanMessage(briefing.transcript)],
            "keywords": self.wanted_keywords(briefing),
            "memories": briefing.memories,
            "repair": self._repair.format(problem=failed.problem) if failed else "",
        }
        already = len(calls.answers)
        result, error = None, None
        try:
            result = await self._run(material, calls)
        except Exception as raised:
            error = raised
        answers = calls.answers[already:]
        if not answers:
            raise (calls.errors[-1] if calls.errors else error) or RuntimeError("the model was not asked")
        first = answers[0]
        if refusal_of(first):
            raise ModelRejected("the model declined")  # in words of its own, which may repeat the user's
        sent = _sent(first)
        # A patched call counts for the one that it patches only when it lost nothing of it.
        if isinstance(result, Proposal) and len(answers) > 1 and len(first.tool_calls) == 1:
            patched = result.model_dump(mode="json")
            if all(len(patched[name]) >= _length(sent.payload.get(name)) for name in _LISTS):
                return as_answer(patched, raw=sent.raw, broken_off=sent.broken_off)
        return sent

    async def _run(self, material: dict[str, Any], calls: Calls) -> Any:
        # LangMem runs a graph of its own. Inside a node it would join the graph around it, and what its nodes return
        # would go to the user's stream: it runs as if nothing were around it.
        context = contextvars.copy_context()
        context.run(var_child_runnable_config.set, None)
        config = {"callbacks": [calls], "tags": [HIDDEN], "configurable": {"max_attempts": calls.left}}
        return await asyncio.create_task(self._invoke(material, config), context=context)

    async def _invoke(self, material: dict[str, Any], config: Any) -> Any:
        return await self._extractor.ainvoke(material, config)


def _sent(message: AIMessage) -> Answer:
    """Read everything that a model sent: each of its tool calls, or else its text."""
    broken_off = is_broken_off(message)
    parts = [
        as_answer(call["args"], raw=json.dumps(call["args"], ensure_ascii=False, default=str), broken_off=broken_off)
        for call in message.tool_calls
    ]
    parts += [read_answer(call["args"] or "", broken_off=broken_off) for call in message.invalid_tool_calls]
    if not parts:
        return read_answer(str(message.text), broken_off=broken_off)
    payload: dict[str, Any] = {}
    leftovers: list[str] = []
    for part in parts:
        leftovers += part.leftovers
        if part.problem and part.raw.strip():
            leftovers.append(part.raw)
        for name, value in part.payload.items():
            if isinstance(value, list) and isinstance(payload.get(name, []), list):
                payload[name] = [*payload.get(name, []), *value]
            elif not payload.get(name):
                payload[name] = value
            elif value and value != payload[name]:
                leftovers.append(json.dumps({name: value}, ensure_ascii=False, default=str))
    return Answer(
        payload=payload,
        leftovers=tuple(leftovers),
        raw="\n".join(part.raw for part in parts),
        problem="" if payload else parts[0].problem,
        broken_off=any(part.broken_off for part in parts),
    )


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0
