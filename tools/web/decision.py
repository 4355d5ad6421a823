"""The small model's word on whether a question needs the web, where the question's own words do not say it."""

from __future__ import annotations

import asyncio
from datetime import datetime

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from memory import telemetry
from memory.extraction.calls import HIDDEN, without_retries
from prompts import load_prompt

MAX_SECONDS = 3.0
"""It stands before the answer. A small model says one word in well under a second; one that takes longer is not asked
twice."""

_MAX_CHARS = 1000


async def model_says_yes(model: BaseChatModel, question: str, *, now: datetime, seconds: float = MAX_SECONDS) -> bool:
    """Ask a model whether a question needs the web. Whatever is not plainly yes is no.

    Args:
        model: The model.
        question: The question; its beginning and its end count.
        now: When it is asked.
        seconds: How long to wait for an answer.

    Raises:
        TimeoutError: If it takes longer.
        Exception: Whatever the model's client raises.
    """
    # a file the first time, and a copy of a client
    prompt, caller = await asyncio.to_thread(lambda: (load_prompt("search_decision"), without_retries(model)))
    half = _MAX_CHARS // 2
    asked = question if len(question) <= _MAX_CHARS else f"{question[:half]} … {question[-half:]}"
    messages = [SystemMessage(prompt.format(today=f"{now:%Y-%m-%d}")), HumanMessage(f"Message:\n{asked}\n\nyes or no?")]
    with telemetry.model_call("web_search", model) as call:
        async with asyncio.timeout(seconds):
            answer = await caller.ainvoke(messages, config={"tags": [HIDDEN]})
        call.answered(answer)
    return answer.text.strip().strip(".!*\"'`").casefold() == "yes"
