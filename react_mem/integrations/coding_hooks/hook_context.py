"""Context that a hook brings: what is remembered for a prompt, and whom a session begins with.

Coding agents cut what is longer: Claude Code shows the beginning of more than 10,000 characters, Codex of more than
2,500 tokens, and the rest is in a file. So all of it is kept below that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from react_mem.memory import MemoryFacade, Origin
from react_mem.memory.records import KINDS
from react_mem.memory.turns import (
    LABELS,
    Assembled,
    BriefingEntry,
    BriefingPart,
    Section,
    briefing,
    count_tokens,
    flat,
    profile_lines,
    render_beginning,
    render_line,
    standing_in,
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
                head = f"conversation {one.last[:10]}, {one.messages} messages" + (
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
