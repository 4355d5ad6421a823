"""The small model's word on whether a question needs the web, where the question's own words do not say it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from react_mem.memory.context import fence
from react_mem.memory.runtime import ask_in_turn, say, without_retries
from react_mem.prompts import load_prompt

MAX_SECONDS = 3.0
"""It stands before the answer. A small model says one word in well under a second; one that takes longer is not asked
twice."""

_MAX_CHARS = 1000
_MAX_TOKENS = 10
"""Of one word; what says more has not said yes."""


async def model_says_yes(
    models: Sequence[BaseChatModel], question: str, *, now: datetime, seconds: float = MAX_SECONDS
) -> bool:
    """Ask a model whether a question needs the web. Whatever is not plainly yes is no.

    Args:
        models: The model, and those that stand in for it where it fails; at least one.
        question: The question; its beginning and its end count.
        now: When it is asked.
        seconds: How long to wait for an answer.

    Raises:
        ExtractionError: If no model can be reached, or each refuses or is late.
    """
    # a file the first time, and copies of clients
    prompt, callers = await asyncio.to_thread(
        lambda: (load_prompt("search_decision"), list(map(without_retries, models)))
    )
    half = _MAX_CHARS // 2
    asked = question if len(question) <= _MAX_CHARS else f"{question[:half]} … {question[-half:]}"
    messages = [
        SystemMessage(prompt.format(today=f"{now:%Y-%m-%d}")),
        HumanMessage(f"Message:\n{fence(asked)}\n\nyes or no?"),
    ]
    return await ask_in_turn([partial(_says_yes, model, messages) for model in callers], seconds)


async def _says_yes(model: BaseChatModel, messages: Sequence[BaseMessage], seconds: float) -> bool:
    answer = await say(
        model, messages, purpose="web_search", run_name="search_decision", seconds=seconds, max_tokens=_MAX_TOKENS
    )
    return answer.text.strip().strip(".!*\"'`").casefold() == "yes"
