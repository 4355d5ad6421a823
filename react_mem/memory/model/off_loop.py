"""Work over texts: done at once where they are short, in a thread where an event loop would notice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage

Result = TypeVar("Result")

_SHORT = 50_000
"""Characters: to count and to cut them takes a millisecond or two; to hand them to a thread and to be woken by it takes
about as long, and several times that where many do."""

_A_MESSAGE = 20
"""Characters that a message is taken for beside what it says: a long thread is gone through, however little is said."""


async def off_loop(characters: int, work: Callable[[], Result]) -> Result:
    """Return what work comes to, done in a thread if it is about a lot of text.

    Args:
        characters: How many it is about.
        work: What is to be done.
    """
    return work() if characters <= _SHORT else await asyncio.to_thread(work)


def characters_of(messages: Sequence[BaseMessage]) -> int:
    """Return about how many characters messages have.

    Args:
        messages: The messages.
    """
    return sum(map(_characters, messages))


def _characters(message: BaseMessage) -> int:
    if isinstance(message.content, str):
        return len(message.content) + _A_MESSAGE
    texts = (block if isinstance(block, str) else str(block.get("text", "")) for block in message.content)
    return sum(map(len, texts)) + _A_MESSAGE
