"""Context that a hook brings: what is remembered for a prompt, and whom a session begins with.

Coding agents cut what is longer: Claude Code shows the beginning of more than 10,000 characters, Codex of more than
2,500 tokens, and the rest is in a file. So all of it is kept below that.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from react_mem.integrations.coding_hooks.transcripts import SaidTurn
from react_mem.memory import MemoryFacade, Message, Origin
from react_mem.memory.records import KINDS
from react_mem.memory.turns import (
    LABELS,
    Assembled,
    BriefingEntry,
    BriefingPart,
    Section,
    ToldRole,
    briefing,
    count_tokens,
    flat,
    profile_lines,
    render_beginning,
    render_line,
    standing_in,
    whole_text,
    words_key,
)
from react_mem.prompts import load_prompt

MESSAGE = KINDS["message"]

MAX_CHARS = 9_000
MAX_TOKENS = 2_300

_FORM = load_prompt("coding_memories")
_MAX_INSTRUCTIONS = 12
_INSTRUCTION_CHARS = 300
_SUMMARY_CHARS = 1_500
_LEAST_TOKENS = 100


async def prompt_context(assembling: Callable[[int], Awaitable[Assembled]], tokens: int) -> tuple[str, Assembled]:
    """Return what is remembered for a prompt, and how it was put together; empty where nothing is.

    Args:
        assembling: Puts it together with so many tokens of memory.
        tokens: Those that the policy gives it.
    """
    while True:
        assembled = await assembling(tokens)
        parts = (assembled.texts.get(section, "") for section in (Section.PROFILE, Section.MEMORIES, Section.OUTLINE))
        text = _fenced("\n\n".join(filter(None, parts)))
        if await asyncio.to_thread(_fits, text):
            return text, assembled
        if tokens <= _LEAST_TOKENS:
            return "", assembled
        tokens = max(tokens * 2 // 3, _LEAST_TOKENS)


async def session_context(memory: MemoryFacade, user_id: str, session_id: str, *, goes_on: bool) -> str:
    """Return whom a session begins with: their profile, standing instructions and latest conversation.

    Args:
        memory: The memory.
        user_id: The owner.
        session_id: The session.
        goes_on: Whether the session has been going on, so that it is the latest conversation itself.
    """
    profile, told, (held, _, _) = await asyncio.gather(
        memory.profile.get_profile(user_id),
        memory.dialog.standing(user_id, _MAX_INSTRUCTIONS),
        memory.dialog.page(user_id, None, 2),
    )

    def entries() -> Iterator[BriefingEntry]:
        for message in told:
            if (standing := standing_in(message.text)) is not None:
                line = render_line(message.to_value(), standing.said, _INSTRUCTION_CHARS, kind="message")
                yield BriefingEntry(BriefingPart.INSTRUCTIONS, line)
        for line in profile_lines(profile.to_value()) if profile is not None else ():
            yield BriefingEntry(BriefingPart.PROFILE, line)
        for _, one in held:
            if goes_on == (one.id == session_id):
                text = f"{LABELS[Origin.ASSISTANT]}{one.summary}" if one.summary else render_beginning(one.about)
                head = f"conversation {one.last:%Y-%m-%d}, {one.messages} messages" + (
                    "" if one.summary else ", began with"
                )
                yield BriefingEntry(BriefingPart.EARLIER, f"- [{head}] {flat(text, _SUMMARY_CHARS)}")
                break

    def whole() -> str:
        shown: list[BriefingEntry] = []
        # the conversation comes first where not all fits: who is asked knows the person's instructions by each prompt
        for entry in sorted(entries(), key=lambda one: one.part is not BriefingPart.EARLIER):
            if _fits(_fenced(briefing([*shown, entry]))):
                shown.append(entry)
        return _fenced(briefing(shown))

    return await asyncio.to_thread(whole)


def _fenced(memories: str) -> str:
    return _FORM.format(memories=memories) if memories else ""


def _fits(text: str) -> bool:
    return len(text) <= MAX_CHARS and count_tokens(text) <= MAX_TOKENS


# Notes of the sessions that memory was not told all of: from where on the transcript of one is still owed.


# Comparison of what is told of a session with what memory has of it: what has still to be stored, and what has not.

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
