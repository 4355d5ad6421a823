"""Memories as the prompt shows them: a dated line each, under a token budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from react_mem.memory.context.lines import MAX_LINE_CHARS, profile_lines, render_beside, render_line, said_and_shown
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.tokens import LineTokens, count_lines
from react_mem.memory.model.interface import Fragment, MemoryResultItem, MemoryScope

_MIN_CHARS = 40
"""Least tokens of a memory that is cut to make room for other scopes; less says nothing."""


@dataclass(frozen=True)
class MemoryBlock:
    """The memories that fit, rendered.

    Args:
        text: One memory a line, the most relevant last; empty where there is none.
        items: The memories in it, the most relevant first.
        dropped: How many did not fit.
    """

    text: str = ""
    items: list[MemoryResultItem] = field(default_factory=list)
    dropped: int = 0

    def __add__(self, other: MemoryBlock) -> MemoryBlock:
        """Return both, this one first."""
        text = "\n".join(filter(None, (self.text, other.text)))
        return MemoryBlock(text, [*self.items, *other.items], self.dropped + other.dropped)


class FoundMemory:
    """A memory that was found, as it may be shown: read and put into words once, however often it is chosen.

    Args:
        item: The memory.
        times: Whether the time of day is shown with the date.
    """

    def __init__(self, item: MemoryResultItem, *, times: bool = False) -> None:
        self.item = item
        self._times = times
        # of a long text, the part that matched
        own = next((part.content for part in item.fragments if part.id == item.id), None)
        said, shown = said_and_shown(item.payload, str(item.payload.get("text", "")) if own is None else own)
        self._text, self._quoted = said or shown, not said and bool(shown)
        self.key = normalise(self._text)
        """Text that it shows, in one form."""
        self._beside = [("", *_told("quoted", shown))] if said and shown else []
        self._beside += [(part.id, *_as_said(part)) for part in item.fragments if part.id != item.id]
        self._line: str | None = None

    @property
    def line(self) -> str:
        """Its line."""
        if self._line is None:
            self._line = self.cut(MAX_LINE_CHARS)
        return self._line

    def cut(self, limit: int) -> str:
        """Return its line with so many characters of the text, at most."""
        item = self.item
        return render_line(
            item.payload,
            self._text,
            limit,
            kind=item.source,
            doubts=item.doubts,
            times=self._times,
            quoted=self._quoted,
        )

    def beside(self, ids: Collection[str], known: Collection[str]) -> dict[str, str]:
        """Return the lines of what was said beside it, by what they say in one form.

        Args:
            ids: The memories that may have a line of their own.
            known: What they say.
        """
        return {key: line for id_, key, line in self._beside if id_ not in ids and key and key not in known}


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
    return profile + render_found(found, max_tokens - count_lines(profile.text))


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
    kept: list[str] = []
    for line in lines:
        if (cost := count_lines(line)) <= max_tokens:
            kept.append(line)
            max_tokens -= cost
    return MemoryBlock("\n".join(kept), items, len(lines) - len(kept))


def render_found(
    found: Sequence[FoundMemory],
    max_tokens: int,
    favoured: Collection[str] = (),
    *,
    counts: LineTokens | None = None,
) -> MemoryBlock:
    """Render what was found.

    Each scope shows one memory, its best that leaves room for the other scopes; the rest is taken best first, a scope
    in turn, and all of it stands with the most relevant last, nearest to the query. What is said twice word for word is
    shown once: a message that says what a fact says is left out, and so is an answer beside its question where it has a
    line of its own.

    Args:
        found: Everything that was read but the profile.
        max_tokens: The budget, in tokens.
        favoured: The scopes of which two come where one of another scope does.
        counts: What lines take, where others count the same.

    Returns:
        The block.
    """
    candidates = _candidates(_by_turns(found, favoured))
    shown = _Shown(max_tokens, LineTokens() if counts is None else counts)
    shown.seed(candidates)
    dropped = sum(
        place not in shown.lines and not shown.add(place, candidate) for place, candidate in enumerate(candidates)
    )
    kept = sorted(shown.lines)
    text = "\n".join(shown.lines[place] for place in reversed(kept))
    return MemoryBlock(text, [candidates[place].memory.item for place in kept], dropped)


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

    def add(self, place: int, candidate: _Tellable, limit: int | None = None) -> bool:
        """Show a memory, with what was said beside it if that fits too; return whether it fits."""
        room = self._room if limit is None else min(limit, self._room)
        unsaid = {text: line for text, line in candidate.beside.items() if text not in self._said}
        # the memory itself counts more than what was said beside it
        for lines in (unsaid, {}) if unsaid else (unsaid,):
            told = candidate.memory.line + "".join(lines.values())
            if (cost := self._counts[told]) <= room:
                self.lines[place] = told
                self._said.update(lines)
                self._room -= cost
                return True
        return False

    def seed(self, candidates: Sequence[_Tellable]) -> None:
        """Show one memory of each scope: none is starved by the long or many memories of another."""
        scopes: dict[MemoryScope, list[int]] = {}
        for place, candidate in enumerate(candidates):
            scopes.setdefault(candidate.memory.item.scope, []).append(place)
        left = len(scopes)
        for places in scopes.values():
            share = self._room // left
            if not any(self.add(place, candidates[place], share) for place in places):
                self._add_cut(places[0], candidates[places[0]], share)
            left -= 1

    def _add_cut(self, place: int, candidate: _Tellable, limit: int) -> None:
        chars = MAX_LINE_CHARS
        while (chars := chars // 2) >= _MIN_CHARS:
            if (cost := count_lines(told := candidate.memory.cut(chars))) <= limit:
                self.lines[place] = told
                self._room -= cost
                return


def _candidates(ranked: Sequence[FoundMemory]) -> list[_Tellable]:
    """Return the memories that say something, each text once, with what may be said beside them."""
    ids, known = {memory.item.id for memory in ranked}, {memory.key for memory in ranked}
    found: dict[str, _Tellable] = {}
    for memory in ranked:
        if memory.key and memory.key not in found:
            found[memory.key] = _Tellable(memory, memory.beside(ids, known))
    return list(found.values())


def _as_said(part: Fragment) -> tuple[str, str]:
    """Return what was said beside a memory, what the user only shows of it left out."""
    said, shown = said_and_shown({"role": part.role}, part.content)
    return _told(part.role if said or not shown else "quoted", said or shown)


def _told(role: str, text: str) -> tuple[str, str]:
    """Return what stands below the line of a memory: in one form, and as a line."""
    return normalise(text), render_beside(role, text)


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
