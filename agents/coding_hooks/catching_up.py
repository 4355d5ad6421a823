"""Comparison of a transcript with what memory has of a session: what has still to be stored, and what has not.

It is for a resident that has not seen the session, or not all of it. The words of both are compared by hashes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from react_mem.agents.coding_hooks.transcripts import SaidTurn
from react_mem.memory import Message
from react_mem.memory.context import whole_text
from react_mem.memory.runtime import storable

Role = Literal["user", "assistant"]

_LOOKED_BACK = 32
"""Messages before the end of the last turn that is stored, among which those are that were told ahead of it."""


@dataclass(frozen=True)
class HeldMessage:
    """A message that memory has.

    Args:
        place: Its place in the session.
        role: Who said it.
        key: The name of its words.
    """

    place: int
    role: Role
    key: str


class Untold(NamedTuple):
    """Part of a transcript that may have to be stored.

    Args:
        turns: The turns.
        ahead: What memory has of them already, by the names of the words.
    """

    turns: list[SaidTurn]
    ahead: Counter[str]


def key_of(text: str) -> str:
    """Return a name for words, however they are laid out: a transcript may break lines where a hook does not."""
    return hashlib.sha256("".join(storable(text).split()).encode()).hexdigest()[:16]


def held_of(messages: Sequence[Message]) -> list[HeldMessage]:
    """Return messages of a session, in their order, without their words. Blocking: it may be a long session."""
    return [
        HeldMessage(one.turn, "user" if one.role == "user" else "assistant", key_of(whole_text(vars(one))))
        for one in messages
    ]


def untold(turns: Sequence[SaidTurn], held: Sequence[HeldMessage], owed: int | None) -> Untold:
    """Return what of a session may have to be stored: what follows the last turn that is stored to its end.

    Where there is none, it is what a note says that is owed, else the last turn alone: what was said before that may
    have been said before memory was there, or have been forgotten.

    Blocking: it may be the whole of a long session.

    Args:
        turns: The transcript.
        held: What memory has, in its order.
        owed: From where on in the transcript hooks have failed; None where none has.
    """
    said = {one.key for one in held if one.role == "user"}
    ends: dict[str, list[int]] = {}
    for place, one in enumerate(held):
        if one.role == "assistant":
            ends.setdefault(one.key, []).append(place)
    answers = [key_of(turn.answer) if turn.answer else "" for turn in turns]
    for last in range(len(turns) - 2, -1, -1):
        turn, found = turns[last], ends.get(answers[last])
        stored = found and (not turn.said or key_of(turn.said) in said)
        if found and stored and (owed is None or turn.end <= owed):
            # "done" is answered again and again
            end = found[min(answers[: last + 1].count(answers[last]), len(found)) - 1] + 1
            before = Counter(one.key for one in held[max(end - _LOOKED_BACK, 0) : end]) - _keys(turns[: last + 1])
            return Untold([*turns[last + 1 :]], before + Counter(one.key for one in held[end:]))
    first = len(turns) - 1 if owed is None else next((n for n, one in enumerate(turns) if one.end > owed), len(turns))
    return Untold([*turns[max(first, 0) :]], Counter(one.key for one in held) - _keys(turns[: max(first, 0)]))


def _keys(turns: Sequence[SaidTurn]) -> Counter[str]:
    return Counter(key_of(text) for turn in turns for text in (turn.said, turn.answer) if text)
