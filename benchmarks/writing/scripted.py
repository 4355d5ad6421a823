"""A chat model that answers by a case's script in every protocol.

It sees the prompt of any model: it labels the clauses in it, and changes only memories in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.runnables import Runnable, RunnableLambda

from benchmarks.writing.answers import turn_of
from benchmarks.writing.case import Case, Manner
from benchmarks.writing.labels import label
from benchmarks.writing.peer_answers import langmem_calls
from react_mem.agents.extractive import AnsweringModel


class ScriptedChat(AnsweringModel):
    """Answers with the case's replies, and extracts by its script and manner; the memories `around` it leaves alone."""

    case: Case
    manner: Manner = "correct"
    around: frozenset[str] = frozenset()

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=list(tools), **kwargs)

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Runnable[Any, Any]:
        def read(raw: AIMessage) -> dict[str, Any]:
            return {"raw": raw, "parsed": json.loads(str(raw.text)), "parsing_error": None}

        return self.bind(response_format=schema) | RunnableLambda(read)

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        shown = "\n".join(str(message.content) for message in messages)
        tools = [_name(tool) for tool in options.get("tools", ())]
        if "Proposal" in tools:
            labels = label(self.case, self.manner, shown, self.around)
            return _calling([tool_call(name="Proposal", args=labels, id="call-1")])
        if "Memory" in tools:
            return _calling(langmem_calls(self.case, self.manner, shown))
        if "response_format" in options:
            return AIMessage(json.dumps(label(self.case, self.manner, shown, self.around), ensure_ascii=False))
        return self._reply(messages)

    def _reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Answer the user, after a call of the turn's tool."""
        said = next(str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage))
        turn = turn_of(self.case, said)
        if turn is None:
            return AIMessage("OK.")
        if turn.observed is not None and not isinstance(messages[-1], ToolMessage):
            return AIMessage("", tool_calls=[tool_call(name=turn.observed.tool, args={}, id="look-1")])
        return AIMessage(turn.reply)


def _calling(calls: list[ToolCall]) -> AIMessage:
    return AIMessage("" if calls else "Nothing to remember.", tool_calls=calls)


def _name(tool: Any) -> str:
    if isinstance(tool, dict):
        return str(tool.get("function", tool).get("name", ""))
    return str(getattr(tool, "name", None) or tool.__name__)
