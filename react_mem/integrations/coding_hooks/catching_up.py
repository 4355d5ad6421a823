"""Comparison of what is told of a session with what memory has of it: what has still to be stored, and what has not.

It is for a resident that has not seen the session, or not all of it. The words of both are compared by hashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from react_mem.integrations.coding_hooks.transcripts import SaidTurn
from react_mem.memory import Message
from react_mem.memory.turns import ToldRole, whole_text, words_key

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
    role: ToldRole
    key: str


@dataclass(frozen=True)
class ToldEvent:
    """Circumstances of an event.

    Args:
        at: When it was told, by the clock of the machine, in nanoseconds; 0 for a time that is not known.
        transcript_bytes: How long the transcript was; None where it is not known.
    """

    at: int = 0
    transcript_bytes: int | None = None


class Untold(NamedTuple):
    """Part of a transcript that may have to be stored.

    Args:
        turns: The turns.
        ahead: What memory has of them already, by the names of the words.
    """

    turns: list[SaidTurn]
    ahead: Counter[str]


def held_of(messages: Sequence[Message]) -> list[HeldMessage]:
    """Return messages of a session, in their order, without their words. Blocking: it may be a long session."""
    return [
        HeldMessage(one.turn, "user" if one.role == "user" else "assistant", words_key(whole_text(vars(one))))
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
    answers = [words_key(turn.answer) if turn.answer else "" for turn in turns]
    for last in range(len(turns) - 2, -1, -1):
        turn, found = turns[last], ends.get(answers[last])
        stored = found and (not turn.said or words_key(turn.said) in said)
        if found and stored and (owed is None or turn.end <= owed):
            # "done" is answered again and again
            end = found[min(answers[: last + 1].count(answers[last]), len(found)) - 1] + 1
            before = Counter(one.key for one in held[max(end - _LOOKED_BACK, 0) : end]) - _keys(turns[: last + 1])
            return Untold([*turns[last + 1 :]], before + Counter(one.key for one in held[end:]))
    first = len(turns) - 1 if owed is None else next((n for n, one in enumerate(turns) if one.end > owed), len(turns))
    return Untold([*turns[max(first, 0) :]], Counter(one.key for one in held) - _keys(turns[: max(first, 0)]))


def _keys(turns: Sequence[SaidTurn]) -> Counter[str]:
    return Counter(words_key(text) for turn in turns for text in (turn.said, turn.answer) if text)
