"""Outline of past conversations in the prompt: an exchange a line, by day, the oldest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from react_mem.memory.context.found_memory import HEADING_TOKENS, BriefingEntry, BriefingPart, PromptBlock
from react_mem.memory.language import length
from react_mem.memory.llm.answers import flat
from react_mem.memory.llm.budget import LineTokens
from react_mem.memory.model.interface import Fragment, MemoryResultItem
from react_mem.memory.model.origins import LABELS, Origin
from react_mem.memory.retrieval.outline import OUTLINE

_WIDTHS = ((160, 100), (60, 44))
"""Characters of the user's words and of the answer where all exchanges fit so, and where they do not."""

_SUMMARY_CHARS = 300
_NAME_CHARS = 40

_SUMMARIES_SHARE = 3
"""Divisor of the room for summaries: a third at most, since each stands for its exchanges."""

_DENSE = 0.4
"""Words per character from which a script has no letters: two of its characters say as much as five letters."""


@dataclass(frozen=True)
class _OutlineLine:
    at: str
    text: str
    parts: tuple[Fragment, ...] = ()

    @property
    def day(self) -> str:
        return f"({self.at[:10]})"


def outline_in(results: Sequence[MemoryResultItem]) -> Mapping[str, Any] | None:
    """Return the outline among the results of a read; None where none was asked for."""
    return next((item.payload for item in results if item.source == OUTLINE), None)


def render_outline(outline: Mapping[str, Any] | None, max_tokens: int, counts: LineTokens) -> PromptBlock[Fragment]:
    """Render an outline (of `outline_in`): its most relevant exchanges that fit, in chronological order."""
    if outline is None:
        return PromptBlock()
    room = max_tokens - HEADING_TOKENS[BriefingPart.OUTLINE]
    exchanges = outline["exchanges"]
    told = (f"{flat(one['name'], _NAME_CHARS)} since {one['since'][:10]}" for one in outline.get("concepts") or ())
    named = f"- [spoken of] {', '.join(told)}" if outline.get("concepts") else ""
    if counts[named] > room // _SUMMARIES_SHARE:
        named = ""
    room -= counts[named]
    summed_up = _that_fit([_summary(one) for one in outline["summaries"]], room // _SUMMARIES_SHARE, counts)
    room -= sum(counts[line] for line in [one.text for one in summed_up] + list({one.day for one in summed_up}))
    kept: list[_OutlineLine] = []
    for widths in _WIDTHS:
        kept = _that_fit([_exchange(one, *widths) for one in exchanges], room, counts)
        if len(kept) == len(exchanges):
            break
    if not kept:
        return PromptBlock(dropped=len(exchanges))
    text: list[str] = [named] if named else []
    day = ""
    for line in sorted([*summed_up, *kept], key=lambda line: line.at):
        if line.day != day:
            day = line.day
            text.append(day)
        text.append(line.text)
    entry = BriefingEntry(BriefingPart.OUTLINE, "\n".join(text))
    return PromptBlock.of([entry], [part for line in kept for part in line.parts], len(exchanges) - len(kept))


def _that_fit(lines: Sequence[_OutlineLine], room: int, counts: LineTokens) -> list[_OutlineLine]:
    kept: list[_OutlineLine] = []
    days: set[str] = set()
    for line in lines:
        cost = counts[line.text] + (0 if line.day in days else counts[line.day])
        if cost > room:
            break
        room -= cost
        days.add(line.day)
        kept.append(line)
    return kept


def _exchange(one: Mapping[str, str], said_chars: int, answer_chars: int) -> _OutlineLine:
    said = _short(one["said"] or one["shown"], said_chars)
    text = f"- {'' if one['said'] else LABELS[Origin.QUOTED]}{said}"
    parts = [Fragment(id=one["id"], role="user", content=said)]
    if "answer" in one:
        answer = _short(one["answer"], answer_chars)
        text += f" ({answer})" if one["role"] == "assistant" else f" ({one['role']}: {answer})"
        parts.append(Fragment(id=one["answer_id"], role=one["role"], content=answer))
    return _OutlineLine(one["at"], text, tuple(parts))


def _summary(one: Mapping[str, str]) -> _OutlineLine:
    return _OutlineLine(one["at"], f"- [summary of {one['covers']} messages] {_short(one['text'], _SUMMARY_CHARS)}")


def _short(text: str, limit: int) -> str:
    return flat(text, limit // 2 if length(text) > _DENSE * len(text) else limit)
