"""Memories as the prompt shows them: a dated line each, under a token budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from react_mem.memory.context.lines import MAX_LINE_CHARS, profile_lines, render_beside, render_line, said_and_shown
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.tokens import count_lines
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


@dataclass(frozen=True)
class _ShownMemory:
    """A memory that may be shown.

    Args:
        item: The memory.
        text: What it says: of a long text, the part that matched.
        quoted: Whether the user only shows that.
        beside: What else its line may say, with its text, in one form.
    """

    item: MemoryResultItem
    text: str
    quoted: bool
    beside: Mapping[str, Fragment]

    def line(self, beside_it: Iterable[Fragment], limit: int = MAX_LINE_CHARS, *, times: bool) -> str:
        """Return its line.

        Args:
            beside_it: What of `beside` is to be shown.
            limit: Characters of the text, at most.
            times: Whether the time of day is shown with the date.
        """
        item = self.item
        own = render_line(
            item.payload, self.text, limit, kind=item.source, doubts=item.doubts, times=times, quoted=self.quoted
        )
        return own + "".join(render_beside(part.role, part.content) for part in beside_it)


def render_memories(results: Sequence[MemoryResultItem], max_tokens: int) -> MemoryBlock:
    """Render what was read for the prompt: the profile, then what was found.

    Args:
        results: What `Memory.read` returned.
        max_tokens: The budget, in tokens; the profile takes half of it at most.

    Returns:
        The block.
    """
    profile = render_profile(results, max_tokens // 2)
    return profile + render_found(results, max_tokens - count_lines(profile.text))


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
    results: Sequence[MemoryResultItem], max_tokens: int, favoured: Collection[str] = (), *, times: bool = False
) -> MemoryBlock:
    """Render what was found: everything that was read but the profile.

    Each scope shows one memory, its best that leaves room for the other scopes; the rest is taken best first, a scope
    in turn, and all of it stands with the most relevant last, nearest to the query. What is said twice word for word is
    shown once: a message that says what a fact says is left out, and so is an answer beside its question where it has a
    line of its own.

    Args:
        results: What `Memory.read` returned.
        max_tokens: The budget, in tokens.
        favoured: The scopes of which two come where one of another scope does.
        times: Whether the time of day is shown with the date.

    Returns:
        The block.
    """
    found = [item for item in results if item.scope is not MemoryScope.PROFILE]
    candidates = _candidates(_by_turns(found, favoured))
    shown = _Shown(max_tokens, times=times)
    shown.seed(candidates)
    dropped = sum(
        place not in shown.lines and not shown.add(place, candidate) for place, candidate in enumerate(candidates)
    )
    kept = sorted(shown.lines)
    text = "\n".join(shown.lines[place] for place in reversed(kept))
    return MemoryBlock(text, [candidates[place].item for place in kept], dropped)


class _Shown:
    """The lines that are shown so far, by the rank of their memories."""

    def __init__(self, room: int, *, times: bool) -> None:
        self._times = times
        self.lines: dict[int, str] = {}
        self._room = room
        self._said: set[str] = set()

    def add(self, place: int, candidate: _ShownMemory, limit: int | None = None) -> bool:
        """Show a memory, with what was said beside it if that fits too; return whether it fits."""
        room = self._room if limit is None else min(limit, self._room)
        unsaid = {text: part for text, part in candidate.beside.items() if text not in self._said}
        # the memory itself counts more than what was said beside it
        for parts in (unsaid, {}) if unsaid else (unsaid,):
            told = candidate.line(parts.values(), times=self._times)
            if (cost := count_lines(told)) <= room:
                self.lines[place] = told
                self._said.update(parts)
                self._room -= cost
                return True
        return False

    def seed(self, candidates: Sequence[_ShownMemory]) -> None:
        """Show one memory of each scope: none is starved by the long or many memories of another."""
        scopes: dict[MemoryScope, list[int]] = {}
        for place, candidate in enumerate(candidates):
            scopes.setdefault(candidate.item.scope, []).append(place)
        left = len(scopes)
        for places in scopes.values():
            share = self._room // left
            if not any(self.add(place, candidates[place], share) for place in places):
                self._add_cut(places[0], candidates[places[0]], share)
            left -= 1

    def _add_cut(self, place: int, candidate: _ShownMemory, limit: int) -> None:
        chars = MAX_LINE_CHARS
        while (chars := chars // 2) >= _MIN_CHARS:
            if (cost := count_lines(told := candidate.line((), chars, times=self._times))) <= limit:
                self.lines[place] = told
                self._room -= cost
                return


def _candidates(ranked: Sequence[MemoryResultItem]) -> list[_ShownMemory]:
    """Return the memories that say something, each text once, with what may be said beside them."""
    told = [said_and_shown(item.payload, _matched(item)) for item in ranked]
    keys = [normalise(said or shown) for said, shown in told]
    ids, known = {item.id for item in ranked}, set(keys)
    found: dict[str, _ShownMemory] = {}
    for item, key, (said, shown) in zip(ranked, keys, told, strict=True):
        if key and key not in found:
            others = [part for part in item.fragments if part.id not in ids]
            parts = [*([Fragment(id=item.id, role="quoted", content=shown)] if said and shown else []), *others]
            beside_it = {
                text: part for part in map(_as_said, parts) if (text := normalise(part.content)) and text not in known
            }
            found[key] = _ShownMemory(item, said or shown, not said and bool(shown), beside_it)
    return list(found.values())


def _as_said(part: Fragment) -> Fragment:
    """Return what was said beside a memory, what the user only shows of it left out."""
    said, shown = said_and_shown({"role": part.role}, part.content)
    role = part.role if said or not shown else "quoted"
    return Fragment(id=part.id, role=role, content=said or shown)


def _by_turns(results: Sequence[MemoryResultItem], favoured: Collection[str]) -> list[MemoryResultItem]:
    """Order results best first, facts before messages of the same rank, each scope seeding its best."""
    scopes: dict[MemoryScope, list[MemoryResultItem]] = {}
    for item in results:
        scopes.setdefault(item.scope, []).append(item)
    order = (MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.DIALOG, *scopes)
    in_turn = [scope for scope in dict.fromkeys(order) if scope in scopes]
    ranked = [
        (rank // 2 if scope in favoured else rank, scope not in favoured, turn, item)
        for turn, scope in enumerate(in_turn)
        for rank, item in enumerate(scopes[scope])
    ]
    return [item for *_, item in sorted(ranked, key=lambda one: one[:3])]


def _matched(item: MemoryResultItem) -> str:
    """Return what an item says: of a long text, the part that matched."""
    matched = [fragment.content for fragment in item.fragments if fragment.id == item.id]
    return matched[0] if matched else str(item.payload.get("text", ""))
