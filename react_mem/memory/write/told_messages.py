"""Names and places of messages that a client tells of a conversation, which need no ids of their own.

Such a message is named by its place in the conversation, who says it and a hash of its words, so that it is stored once
however often it is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

from langchain_core.messages import AnyMessage, SystemMessage

from react_mem.memory.store.stored_text import storable

ToldRole = Literal["user", "assistant"]


def words_key(text: str) -> str:
    """Return a name for words, however they are laid out: what is told twice may break its lines elsewhere.

    Args:
        text: The words.

    >>> words_key("I live in Hue.") == words_key("I live\\nin Hue. ")
    True
    """
    return hashlib.sha256("".join(storable(text).split()).encode()).hexdigest()[:16]


def placed_name(place: int, role: ToldRole, key: str) -> str:
    """Return the id of a message that has none of its own.

    Args:
        place: Its place in the conversation.
        role: Who says it.
        key: The name of its words.
    """
    return f"{place}-{role}-{key}"


def placed_thread(place: int, latest: Iterable[tuple[int, AnyMessage]], new: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return new messages behind the latest ones, each at its place in the conversation.

    Args:
        place: The place of the first new message.
        latest: Those before it that are at hand, with their places.
        new: The new messages.
    """
    # nobody said those that stand for what is not at hand
    nobody = SystemMessage("")
    thread: list[AnyMessage] = [nobody] * place
    for before, message in latest:
        thread[before] = message
    return [*thread, *new]
