"""Usage of memory's own model calls."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.utils.function_calling import convert_to_openai_tool

_CHARS_PER_TOKEN = 4.0
"""Characters a token, if the model does not count: about right for English; Vietnamese takes twice as many tokens."""


class Meter(AsyncCallbackHandler):
    """Adds up the turns' time and the calls of the model that draws facts; what answers the user is another one.

    What is called while no turn runs, which is work behind the turns, is not counted. Tokens are the model's own count
    where it gives one, else an approximation by length.
    """

    run_inline = True

    def __init__(self) -> None:
        self.calls = 0
        self.prompt_tokens = 0.0
        self.completion_tokens = 0.0
        self.seconds = 0.0
        self._counts = False
        self._asked: dict[UUID, float] = {}

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what happens in a turn."""
        self._counts = True
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start
            self._counts = False

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Count a call and what it is asked."""
        if not self._counts:
            return
        options = kwargs.get("invocation_params") or {}
        tools = [convert_to_openai_tool(tool) for tool in options.get("tools") or ()]
        schema = json.dumps([tools, options.get("response_format")], ensure_ascii=False, default=str)
        self.calls += 1
        self._asked[run_id] = count_tokens_approximately(messages[0]) + len(schema) / _CHARS_PER_TOKEN

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count what it answered."""
        asked = self._asked.pop(run_id, None)
        if asked is None:
            return
        generation = response.generations[0][0]
        message = generation.message if isinstance(generation, ChatGeneration) else None
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        if usage:
            self.prompt_tokens += usage["input_tokens"]
            self.completion_tokens += usage["output_tokens"]
        elif isinstance(message, AIMessage):
            called = "".join(json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls)
            self.prompt_tokens += asked
            self.completion_tokens += len(str(message.text) + called) / _CHARS_PER_TOKEN
