"""Dialogue in the prompt: latest turns word for word, summaries of earlier ones, and web pages."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

from react_mem.memory.context.found_memory import (
    SUMMARY_ID,
    PromptBlock,
    changed_since,
    render_message,
)
from react_mem.memory.llm.answers import fence, flat
from react_mem.memory.llm.budget import (
    MESSAGE_TOKENS,
    count_lines,
    count_tokens,
    cut_to,
    message_tokens,
)
from react_mem.memory.merging.authors import is_users
from react_mem.memory.merging.blocks import with_text, without_media
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.external import WebPage
from react_mem.memory.model.interface import MemoryDoubt, MemoryResultItem
from react_mem.memory.model.kinds import CHAIN
from react_mem.memory.model.origins import LABELS, Origin
from react_mem.prompts import load_prompt

_CUT_EARLIER, _CUT_CURRENT = load_prompt("cut_message"), load_prompt("cut_current")

_END_SHARE = 4
"""Divisor of a long message's room for its end: the question about a text often stands after it."""

_NUMBER_TOKENS = 10
"""Tokens of the number of characters left out of a long message."""


@dataclass(frozen=True)
class ThreadTurn:
    """An earlier turn of a thread: its places, the end excluded, and its tokens with and without the agent's steps."""

    start: int
    end: int
    tokens: int
    said_tokens: int


@dataclass(frozen=True)
class Verbatim:
    """Part of a thread that is shown word for word: from the place `first` on, at first without the agent's steps, and
    from `whole` on with all. `tokens` are of the turns before the current one.
    """

    first: int
    whole: int
    tokens: int = 0


def current_start(thread: Sequence[AnyMessage]) -> int:
    """Return the place of the last message of the user, with which the current turn begins; 0 without one."""
    return next((i for i in range(len(thread) - 1, -1, -1) if is_users(thread[i])), 0)


MESSAGE_CHARS = 8_000
"""Characters of an earlier message in the prompt; the current turn is always whole."""


def earlier_turns(thread: Sequence[AnyMessage], turns: int | None, max_chars: int) -> list[ThreadTurn]:
    """Return the turns before the current one, the newest first; `turns` counts the current one, None is all."""
    starts: list[int] = []
    for place in range(len(thread) - 1, -1, -1):
        if is_users(thread[place]):
            if len(starts) == turns:
                break
            starts.insert(0, place)
    else:
        if starts and starts[0] > 0:
            # what was there before the user said anything
            starts.insert(0, 0)
    measured: list[ThreadTurn] = []
    for start, end in reversed([*pairwise(starts)]):
        shown = (message for message in thread[start:end] if not isinstance(message, SystemMessage))
        # of the turn before this one, a question may still be about the picture
        cut = (bounded(message, max_chars, media=not measured) for message in shown)
        counted = [(message_tokens(message), is_step(message)) for message in cut]
        said = sum(tokens for tokens, step in counted if not step)
        measured.append(ThreadTurn(start, end, sum(tokens for tokens, _ in counted), said))
    return measured


def fit(turns: Sequence[ThreadTurn], now: int, max_tokens: int) -> Verbatim:
    """Return the part of the earlier turns that fits into `max_tokens`.

    A turn is whole or without the agent's steps, so that no tool result loses its call; from the first one that does
    not fit whole on, those before it are without. `turns` has the newest first; the current turn begins at `now`.
    """
    first = whole = now
    taken = 0
    for turn in turns:
        if first == whole and taken + turn.tokens <= max_tokens:
            first = whole = turn.start
            taken += turn.tokens
        elif taken + turn.said_tokens <= max_tokens:
            first = turn.start
            taken += turn.said_tokens
        else:
            break
    return Verbatim(first, whole, taken)


def visible(thread: Sequence[AnyMessage], first: int, whole: int) -> list[int]:
    """Return the places of the shown messages (see `Verbatim`); the caller's instructions always stay."""
    before = [place for place, message in enumerate(thread[:first]) if is_instruction(message)]
    said = [place for place in range(first, whole) if not is_step(thread[place])]
    return [*before, *said, *range(whole, len(thread))]


def is_instruction(message: BaseMessage) -> bool:
    """Return true for a system message. By its type, not its class: every message of a thread is checked."""
    return message.type == "system"


def bounded(message: AnyMessage, max_chars: int, *, media: bool = False) -> AnyMessage:
    """Return a message of an earlier turn, its text cut to `max_chars`: a paste is not paid for in every turn.

    Images, sounds and files are named, unless `media` keeps them. Instructions stay whole.
    """
    if isinstance(message, SystemMessage):
        return message

    def cut(text: str) -> str:
        left_out = len(text) - max_chars
        return _CUT_EARLIER.format(beginning=text[:max_chars], left_out=left_out) if left_out > 0 else text

    return with_text(message if media else without_media(message), cut)


def squeezed(message: BaseMessage, max_tokens: int | None) -> BaseMessage:
    """Return a message of the current turn cut to its beginning and end; `max_tokens` is None for no limit."""
    if max_tokens is None:
        return message
    return with_text(message, lambda text: squeezed_text(text, max_tokens - MESSAGE_TOKENS))


def squeezed_text(text: str, max_tokens: int | None) -> str:
    """Return a text cut to its beginning and end within a number of tokens; None for no limit."""
    # no character takes more than five: most texts need not be counted
    if max_tokens is None or len(text) * 5 <= max_tokens or count_tokens(text) <= max_tokens:
        return text
    room = max(max_tokens - count_tokens(_CUT_CURRENT) - _NUMBER_TOKENS, 0)
    end = cut_to(text[::-1], room // _END_SHARE)[::-1]
    beginning = cut_to(text, room - count_tokens(end))
    return _CUT_CURRENT.format(beginning=beginning, left_out=len(text) - len(beginning) - len(end), end=end)


def is_step(message: BaseMessage) -> bool:
    """Return true for a step of the agent: a call of tools, or a result."""
    if isinstance(message, AIMessage):
        return bool(message.tool_calls or message.invalid_tool_calls)
    return isinstance(message, ToolMessage)


# Summaries of what precedes the messages shown word for word, under a token budget.

_MAX_CHARS = 4_000
"""Maximum characters of a summary, `SummarySettings.summary_length`."""

log = logging.getLogger(__name__)


def chain_of(results: Sequence[MemoryResultItem], session_id: str) -> tuple[ContextChain | None, str]:
    """Return the summary chain of a conversation among `results`, and why it cannot be read.

    Where the database is down, the results may be of another conversation.
    """
    chains = (item.payload for item in results if item.source == CHAIN.name)
    value = next((payload for payload in chains if payload.get("session_id") == session_id), None)
    if value is None:
        return None, ""
    try:
        return ContextChain.from_value(value), ""
    except ValidationError as error:
        # of a later version, perhaps: the turn goes on without
        fields = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}))
        log.warning("the summaries of a conversation cannot be read: %s are not as expected", fields)
        return None, f"cannot be read: {fields} are not as expected"


def render_summaries(
    entries: Sequence[ChainEntry], max_tokens: int, changed: Sequence[MemoryDoubt] = ()
) -> PromptBlock[ChainEntry]:
    """Render the summaries and messages of a chain, the oldest first, within some tokens, each with later changes.

    Where not all of it fits, entries that stand for the fewest messages go first, the oldest before the newer.
    """
    lines = [_line(entry) + changed_since(changed, entry.id) for entry in entries]
    kept: set[int] = set()
    for place in sorted(range(len(entries)), key=lambda place: (-entries[place].covers, -place)):
        if (cost := count_lines(lines[place])) > max_tokens:
            break
        kept.add(place)
        max_tokens -= cost
    text = "\n".join(lines[place] for place in sorted(kept))
    return PromptBlock(text, [entries[place] for place in sorted(kept)], len(entries) - len(kept))


def _line(entry: ChainEntry) -> str:
    date = entry.at.date().isoformat()
    if entry.is_message:
        payload = entry.model_dump(mode="json") | {"created_at": entry.at.isoformat()}
        return render_message(payload, entry.text, _MAX_CHARS)
    level = "master" if entry.level == "master" else f"level {entry.level}"
    messages = f"{entry.covers} message" + ("s" if entry.covers > 1 else "")
    head = f"summary {entry.id[:SUMMARY_ID]} until {date}, {level}, {messages}"
    return f"- [{head}] {LABELS[entry.origin]}{flat(entry.text, _MAX_CHARS)}"


# Web pages as the prompt shows them: a dated line each, with its address, under a token budget.

MAX_PAGE_CHARS = 8_000
"""Maximum characters of a page, some 2,000 tokens: its beginning. Three take a third of the window of a small model."""

_MAX_HEAD_CHARS = 300
"""Maximum characters of an address, and of a title: longer ones are there to be long."""

_MIN_TOKENS = 40
"""Minimum tokens of a page's text, besides its address and title; less says nothing."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def render_pages(pages: Sequence[WebPage], max_tokens: int) -> PromptBlock[WebPage]:
    """Render web pages, given the best first, each with its address, its title and a few words; the rest of the room is
    shared equally. Where not even the few words fit, the least relevant is left out first.
    """
    heads = [_head(page) for page in pages]
    # once more as a whole: what is not a mark in one part may end in another
    lines = [fence(head + flat(page.text, MAX_PAGE_CHARS)) for head, page in zip(heads, pages, strict=True)]
    needs = [min(count_lines(line), count_lines(head) + _MIN_TOKENS) for line, head in zip(lines, heads, strict=True)]
    count = sum(needed <= max_tokens for needed in accumulate(needs))
    spare, kept = max_tokens - sum(needs[:count]), []
    for place, (line, need) in enumerate(zip(lines[:count], needs, strict=False)):
        cut = cut_to(line, need + spare // (count - place) - 1)
        spare -= count_lines(cut) - need
        kept.append(cut)
    return PromptBlock("\n".join(reversed(kept)), pages[:count], len(pages) - count)


def _head(page: WebPage) -> str:
    date = page.published if _DAY.fullmatch(page.published) else f"read {page.fetched_at.date().isoformat()}"
    title = flat(page.title, _MAX_HEAD_CHARS)
    return f"- [web page {date}, {flat(page.url, _MAX_HEAD_CHARS)}] {LABELS[Origin.WEB]}{f'{title}: ' if title else ''}"
