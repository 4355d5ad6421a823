"""Context from a hook: the memories for a prompt, and the user's profile at the beginning of a session.

Coding agents cut long output: Claude Code shows the beginning of more than 10,000 characters, Codex of more than 2,500
tokens, and the rest is in a file. The context stays below both limits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
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
LEAST_TOKENS = 100


def prompt_context(assembled: Assembled) -> str | None:
    """Return the memories for a prompt, empty for none; None if they are too long. Blocking."""
    parts = (assembled.texts.get(section, "") for section in (Section.PROFILE, Section.MEMORIES, Section.OUTLINE))
    text = _fenced("\n\n".join(filter(None, parts)))
    return text if _fits(text) else None


async def session_context(memory: MemoryFacade, user_id: str, session_id: str, *, goes_on: bool) -> str:
    """Return the context at the beginning of a session: profile, standing instructions and latest conversation.

    A session that goes on is the latest conversation itself.
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


# Comparison of a transcript with the stored messages: the turns that have still to be stored.

_LOOKED_BACK = 32  # Messages before the end of the last stored turn, among which are those that were stored ahead of it


class HeldMessage(NamedTuple):
    """A stored message: its place in the session, its role, and the hash of its words."""

    place: int
    role: ToldRole
    key: str


class ToldEvent(NamedTuple):
    """Circumstances of an event: its monotonic time in nanoseconds, 0 for unknown, and the length of the transcript."""

    at: int = 0
    transcript_bytes: int | None = None


def held_of(messages: Sequence[Message]) -> list[HeldMessage]:
    """Return messages of a session, in order, without their words. Blocking: it may be a long session."""
    return [
        HeldMessage(one.turn, "user" if one.role == "user" else "assistant", words_key(whole_text(vars(one))))
        for one in messages
    ]


def untold(
    turns: Sequence[SaidTurn], held: Sequence[HeldMessage], owed: int | None
) -> tuple[list[SaidTurn], Counter[str]]:
    """Return the turns after the last completely stored one, and the counts of their messages that are stored already.

    The messages are counted by the hash of their words. Without a stored turn the result has the turns from `owed` on,
    the place in the transcript from which hooks have failed, else the last turn alone: earlier ones may be older than
    memory, or forgotten. Blocking: it may be a long session.
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
            return [*turns[last + 1 :]], before + Counter(one.key for one in held[end:])
    first = len(turns) - 1 if owed is None else next((n for n, one in enumerate(turns) if one.end > owed), len(turns))
    return [*turns[max(first, 0) :]], Counter(one.key for one in held) - _keys(turns[: max(first, 0)])


def _keys(turns: Sequence[SaidTurn]) -> Counter[str]:
    return Counter(words_key(text) for turn in turns for text in (turn.said, turn.answer) if text)
