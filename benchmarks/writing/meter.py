"""What memory's model calls cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.utils.function_calling import convert_to_openai_tool

_CHARS_PER_TOKEN = 4.0
"""Where the model does not count: about right for English; Vietnamese takes nearly twice as many tokens."""


@dataclass
class Cost:
    """Model calls and their tokens."""

    calls: int = 0
    prompt_tokens: float = 0
    completion_tokens: float = 0


class Meter(AsyncCallbackHandler):
    """Adds up the model calls, those that answer the user apart from those of memory.

    A call of memory is one that asks for a schema or offers tools of a memory protocol: the agent of the benchmark
    has no tools. Tokens are the model's own count where it gives one, else an approximation by length.
    """

    run_inline = True

    def __init__(self) -> None:
        self.answering = Cost()
        self.memory = Cost()
        self._running: dict[UUID, tuple[Cost, float]] = {}

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Count a call and what it is asked."""
        options = kwargs.get("invocation_params") or {}
        tools = [convert_to_openai_tool(tool) for tool in options.get("tools") or ()]
        form = options.get("response_format")
        cost = self.memory if tools or form else self.answering
        schema = len(json.dumps([tools, form], ensure_ascii=False, default=str)) / _CHARS_PER_TOKEN
        cost.calls += 1
        self._running[run_id] = (cost, count_tokens_approximately(messages[0]) + schema)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count what it answered."""
        cost, prompt = self._running.pop(run_id)
        generation = response.generations[0][0]
        message = generation.message if isinstance(generation, ChatGeneration) else None
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        if usage:
            cost.prompt_tokens += usage["input_tokens"]
            cost.completion_tokens += usage["output_tokens"]
        elif isinstance(message, AIMessage):
            called = "".join(json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls)
            cost.prompt_tokens += prompt
            cost.completion_tokens += len(str(message.text) + called) / _CHARS_PER_TOKEN
