"""The engine `langmem`: LangMem's thread extractor, for models that call tools better than they fill in schemas.

LangMem decides how the model is asked. What it would lose on the way (a second tool call, an answer in text, an error
that it swallows) is kept by the callback that sees every call; what is not in form costs only itself, and no patch.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import var_child_runnable_config
from langmem import create_thread_extractor

from memory.extraction.answers import Answer, as_json, read_answer
from memory.extraction.briefing import Briefing
from memory.extraction.calls import HIDDEN, Calls, is_broken_off, said_in
from memory.extraction.engine import Engine
from memory.extraction.proposal import Proposal


class LangMemExtractor(Engine):
    """Asks for a tool call through LangMem.

    Args:
        model: A chat model that calls tools.
        profile: The fields of the user's profile, with what each holds; empty: the model names them.
    """

    def __init__(self, model: BaseChatModel, profile: Mapping[str, str]) -> None:
        super().__init__(model, profile)
        prompt = self.instructions().replace("{", "{{").replace("}", "}}")
        create: Any = create_thread_extractor  # its annotation knows models by name only; it takes them as well
        self._extractor: Runnable[Any, Any] = create(
            self.model, schema=Proposal, instructions=f"{prompt}\n\n{{memories}}\n\n{{repair}}"
        )

    async def ask(self, briefing: Briefing, calls: Calls, failed: Answer | None) -> Answer:
        """Ask for one tool call. See `Engine.ask`."""
        material = {
            "messages": [HumanMessage(briefing.transcript)],
            "memories": briefing.memories,
            "repair": self._repair.format(problem=failed.problem) if failed else "",
        }
        already, error = len(calls.answers), None
        try:
            await self._run(material, calls)
        except Exception as raised:
            error = raised
        answers = calls.answers[already:]
        if not answers:
            raise (calls.errors[-1] if calls.errors else error) or RuntimeError("the model was not asked")
        return _sent(answers[0])

    async def _run(self, material: dict[str, Any], calls: Calls) -> Any:
        # LangMem runs a graph of its own. Inside a node it would join the graph around it, and what its nodes return
        # would go to the user's stream: it runs as if nothing were around it.
        context = contextvars.copy_context()
        context.run(var_child_runnable_config.set, None)
        config = {"callbacks": [calls], "tags": [HIDDEN], "configurable": {"max_attempts": 1}}
        return await asyncio.create_task(self._invoke(material, config), context=context)

    async def _invoke(self, material: dict[str, Any], config: Any) -> Any:
        return await self._extractor.ainvoke(material, config)


def _sent(message: AIMessage) -> Answer:
    """Read everything that a model sent: each of its tool calls, or else its text."""
    text, broken_off = said_in(message), is_broken_off(message)
    sent = [as_json(call["args"]) for call in message.tool_calls]
    sent += [call["args"] or "" for call in message.invalid_tool_calls]
    parts = [read_answer(one, broken_off=broken_off) for one in sent or [text]]
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
                leftovers.append(as_json({name: value}))
    return Answer(
        payload=payload,
        leftovers=tuple(leftovers),
        raw="\n".join(part.raw for part in parts),
        problem="" if payload else parts[0].problem,
        broken_off=any(part.broken_off for part in parts),
    )
