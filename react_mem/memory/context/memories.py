"""Memories as the prompt shows them: a dated line each, in parts, under a token budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from react_mem.memory.context.briefing_parts import HEADING_TOKENS, BriefingEntry, BriefingPart, briefing
from react_mem.memory.context.evidence_once import EvidenceOnce
from react_mem.memory.context.found_memory import FoundMemory
from react_mem.memory.context.lines import MAX_LINE_CHARS, profile_lines
from react_mem.memory.llm.tokens import LineTokens, count_lines
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope

_MIN_CHARS = 40
"""Least tokens of a memory that is cut to make room for other scopes; less says nothing."""

_LINKED_TOKENS = 60
"""Tokens of what a fact is linked with, at most."""


@dataclass(frozen=True)
class MemoryBlock:
    """The memories that fit, rendered.

    Args:
        entries: What is shown, the most relevant last.
        items: The memories in it, the most relevant first.
        dropped: How many did not fit.
    """

    entries: Sequence[BriefingEntry] = ()
    items: list[MemoryResultItem] = field(default_factory=list)
    dropped: int = 0

    def __add__(self, other: MemoryBlock) -> MemoryBlock:
        """Return both, this one first."""
        return MemoryBlock([*self.entries, *other.entries], [*self.items, *other.items], self.dropped + other.dropped)

    @cached_property
    def text(self) -> str:
        """One list, the most relevant last, as a tool returns what it found."""
        return "\n".join(entry.text for entry in self.entries)

    @cached_property
    def briefing(self) -> str:
        """The same in parts under headings, as the prompt has it; empty where there is none."""
        return briefing(self.entries)


def render_memories(results: Sequence[MemoryResultItem], max_tokens: int) -> MemoryBlock:
    """Render what was read for the prompt: the profile, then what was found.

    Args:
        results: What `Memory.read` returned.
        max_tokens: The budget, in tokens; the profile takes half of it at most.

    Returns:
        The block.
    """
    profile = render_profile(results, max_tokens // 2)
    found = [FoundMemory(item) for item in results if item.scope is not MemoryScope.PROFILE]
    return profile + render_found(found, max_tokens - count_lines(profile.briefing))


def render_profile(results: Sequence[MemoryResultItem], max_tokens: int) -> MemoryBlock:
    """Render what is known of the user, a field a line.

    Args:
        results: What `Memory.read` returned.
        max_tokens: The budget, in tokens.

    Returns:
        The block; its item is the profile, what it counts as dropped are fields.
    """
    items = [item for item in results if item.scope is MemoryScope.PROFILE and item.payload.get("fields")]
    lines = [line for item in items for line in profile_lines(item.payload)]
    kept: list[BriefingEntry] = []
    max_tokens -= HEADING_TOKENS[BriefingPart.PROFILE]
    for line in lines:
        if (cost := count_lines(line)) <= max_tokens:
            kept.append(BriefingEntry(BriefingPart.PROFILE, line))
            max_tokens -= cost
    return MemoryBlock(kept, items, len(lines) - len(kept))


def render_found(
    found: Sequence[FoundMemory],
    max_tokens: int,
    favoured: Collection[str] = (),
    *,
    question: str = "",
    counts: LineTokens | None = None,
) -> MemoryBlock:
    """Render what was found.

    Each scope shows one memory, its best that leaves room for the other scopes; the rest is taken best first, a scope
    in turn. Each piece of evidence has one place (`memory.context.evidence_once`), and no answer stands beside its
    question where it has a line of its own. What facts are linked with stands below them in what room is left.

    Args:
        found: Everything that was read but the profile.
        max_tokens: The budget, in tokens.
        favoured: The scopes of which two come where one of another scope does.
        question: What is asked: a memory that says more of it than what stands for it is shown as well.
        counts: What lines take, where others count the same.

    Returns:
        The block.
    """
    candidates = _candidates(EvidenceOnce(question).one_place(_by_turns(found, favoured)))
    shown = _Shown(max_tokens, LineTokens() if counts is None else counts)
    shown.seed(candidates)
    dropped = sum(
        place not in shown.lines and not shown.add(place, candidate) for place, candidate in enumerate(candidates)
    )
    kept = sorted(shown.lines)
    for place in kept:
        shown.link(place, candidates[place].memory.linked)
    entries = [BriefingEntry(candidates[place].memory.part, shown.lines[place]) for place in reversed(kept)]
    return MemoryBlock(entries, [candidates[place].memory.item for place in kept], dropped)


class _Tellable(NamedTuple):
    """A memory that may be shown, and the lines that may stand below its own."""

    memory: FoundMemory
    beside: Mapping[str, str]


class _Shown:
    """The lines that are shown so far, by the rank of their memories."""

    def __init__(self, room: int, counts: LineTokens) -> None:
        self.lines: dict[int, str] = {}
        self._counts = counts
        self._room = room
        self._said: set[str] = set()
        self._begun: set[BriefingPart] = set()

    def add(self, place: int, candidate: _Tellable, limit: int | None = None) -> bool:
        """Show a memory, with what was said beside it if that fits too; return whether it fits."""
        room = self._room if limit is None else min(limit, self._room)
        unsaid = {text: line for text, line in candidate.beside.items() if text not in self._said}
        # the memory itself counts more than what was said beside it
        for lines in (unsaid, {}) if unsaid else (unsaid,):
            if self._show(place, candidate.memory, candidate.memory.line + "".join(lines.values()), room):
                self._said.update(lines)
                return True
        return False

    def link(self, place: int, lines: Sequence[str]) -> None:
        """Show what a memory that is shown is linked with, as far as that fits."""
        left = _LINKED_TOKENS
        for line in lines:
            told = self.lines[place] + line
            cost = self._counts[told] - self._counts[self.lines[place]]
            if cost <= min(left, self._room):
                self.lines[place] = told
                self._room -= cost
                left -= cost

    def _show(self, place: int, memory: FoundMemory, told: str, limit: int) -> bool:
        """Show a memory in some words, under the heading of its part; return whether that fits."""
        heading = 0 if memory.part in self._begun else HEADING_TOKENS[memory.part]
        if (cost := self._counts[told] + heading) > limit:
            return False
        self.lines[place] = told
        self._begun.add(memory.part)
        self._room -= cost
        return True

    def seed(self, candidates: Sequence[_Tellable]) -> None:
        """Show one memory of each scope: none is starved by the long or many memories of another."""
        scopes: dict[MemoryScope, list[int]] = {}
        for place, candidate in enumerate(candidates):
            scopes.setdefault(candidate.memory.item.scope, []).append(place)
        left = len(scopes)
        for places in scopes.values():
            share = self._room // left
            if not any(self.add(place, candidates[place], share) for place in places):
                self._add_cut(places[0], candidates[places[0]].memory, share)
            left -= 1

    def _add_cut(self, place: int, memory: FoundMemory, limit: int) -> None:
        chars = MAX_LINE_CHARS
        while (chars := chars // 2) >= _MIN_CHARS:
            if self._show(place, memory, memory.cut(chars), limit):
                return


def _candidates(ranked: Sequence[FoundMemory]) -> list[_Tellable]:
    """Return memories with what may be said beside them."""
    ids, known = {memory.item.id for memory in ranked}, {memory.key for memory in ranked}
    return [_Tellable(memory, memory.beside(ids, known)) for memory in ranked]


def _by_turns(found: Sequence[FoundMemory], favoured: Collection[str]) -> list[FoundMemory]:
    """Order memories best first, facts before messages of the same rank, each scope seeding its best."""
    scopes: dict[MemoryScope, list[FoundMemory]] = {}
    for memory in found:
        scopes.setdefault(memory.item.scope, []).append(memory)
    order = (MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.DIALOG, *scopes)
    in_turn = [scope for scope in dict.fromkeys(order) if scope in scopes]
    ranked = [
        (rank // 2 if scope in favoured else rank, scope not in favoured, turn, memory)
        for turn, scope in enumerate(in_turn)
        for rank, memory in enumerate(scopes[scope])
    ]
    return [memory for *_, memory in sorted(ranked, key=lambda one: one[:3])]
