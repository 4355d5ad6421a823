"""Memories in the prompt: a dated line each, in parts, under a token budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, tzinfo
from typing import Any

from react_mem.memory.context.found_memory import (
    HEADING_TOKENS,
    MAX_LINE_CHARS,
    MAX_PARTNER_CHARS,
    BriefingEntry,
    BriefingPart,
    FoundMemory,
    PromptBlock,
    profile_lines,
)
from react_mem.memory.language import denial_of, is_question, statements_in
from react_mem.memory.language.statements import cue
from react_mem.memory.language.terms import index_terms
from react_mem.memory.llm.budget import LineTokens, count_lines
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import MESSAGE, SUMMARY
from react_mem.memory.model.records import SummaryLevel, local, now

# One piece of evidence in one place: of a message, its facts, its summaries and its episodes, what tells most.

NEARLY_ALL = 0.8
"""Share of common words from which one of two texts says nothing new."""

_ALIKE_IN_LENGTH = 0.7
"""Minimum ratio of lengths of two texts with so many words in common."""

_FEW_WORDS = 3
"""Number of words below which a text occurs within others by chance."""

_ASKING_CHARS = 150
"""Maximum characters of a message that only asks; reading a longer one takes its time."""

_FIRST_LEVEL: SummaryLevel = "1"

_SPAN = ("first_turn", "last_turn")

_ASKED = cue("asked")


def one_place(ranked: Sequence[FoundMemory], question: str = "") -> list[FoundMemory]:
    """Return the memories that each say something of their own, in the same order, the best first.

    A memory with a word of the question that those that cover it lack says something of its own. Each returned memory
    notes how many messages it replaces.
    """
    wanted, asked = frozenset(index_terms(question)), bool(_ASKED.search(question))
    kept = _ShownEvidence()
    said: dict[str, list[FoundMemory]] = {}
    left_out: Counter[int] = Counter()
    for memory in sorted((one for one in ranked if one.key), key=_precedence):
        if any(_is_the_same(memory, other) for other in said.get(memory.key, ())):
            continue
        covering = kept.covering(memory)
        if covering and wanted & memory.terms <= frozenset().union(*(other.terms for other in covering)):
            left_out[id(covering[0])] += memory.part is BriefingPart.SAID
        elif memory.part not in _SECOND or not _says_nothing(memory, kept.memories, asked):
            said.setdefault(memory.key, []).append(memory)
            kept.add(memory)
    for memory in kept.memories:
        memory.messages = left_out[id(memory)]
    chosen = {id(memory) for memory in kept.memories}
    return [memory for memory in ranked if id(memory) in chosen]


def _says_nothing(memory: FoundMemory, kept: Sequence[FoundMemory], asked: bool) -> bool:
    """Return true if a memory adds nothing; `asked` is true where the user wants to know earlier questions."""
    if any(_repeats(memory, other) for other in kept):
        return True
    facts = [other for other in kept if other.part is BriefingPart.FACTS]
    return bool(facts) and not asked and _only_asks(memory, facts)


class _ShownEvidence:
    """Memories shown so far, by their source messages."""

    def __init__(self) -> None:
        self.memories: list[FoundMemory] = []
        self._telling_of: dict[str, list[FoundMemory]] = {}

    def add(self, memory: FoundMemory) -> None:
        self.memories.append(memory)
        for id_ in (memory.item.id, *memory.item.source_ids):
            self._telling_of.setdefault(id_, []).append(memory)

    def covering(self, memory: FoundMemory) -> list[FoundMemory]:
        """Return the shown memories of the same messages; none for a piece of evidence itself, such as a fact."""
        if memory.item.source == SUMMARY.name:
            return self._of_summary(memory)
        if memory.part is not BriefingPart.SAID:
            return []
        found = self._of([memory.item.id, *memory.item.source_ids])
        facts = [other for other in found if other.part is BriefingPart.FACTS]
        # a message of which a part has changed is not told by the facts that stay
        return [] if memory.item.doubts and all(one.item.payload.get("current", True) for one in facts) else facts

    def _of_summary(self, summary: FoundMemory) -> list[FoundMemory]:
        payload = summary.item.payload
        if payload.get("level", _FIRST_LEVEL) != _FIRST_LEVEL:
            # its sources are summaries: it is of the same conversation
            return [other for other in self.memories if _is_within(payload, other.item.payload)]
        found = self._of([summary.item.id, *summary.item.source_ids])
        higher = (one for one in self.memories if one.item.source == SUMMARY.name and one not in found)
        return [*found, *(one for one in higher if _is_within(payload, one.item.payload))]

    def _of(self, ids: Iterable[str]) -> list[FoundMemory]:
        found = (memory for id_ in ids for memory in self._telling_of.get(id_, ()))
        return list(dict.fromkeys(found))


_SECOND = (BriefingPart.SAID, BriefingPart.EARLIER)


def _precedence(memory: FoundMemory) -> tuple[int, bool]:
    """Return the order in which memories claim their evidence: facts, messages, summaries."""
    if memory.item.source == SUMMARY.name:
        return 2, False
    is_said = memory.part is BriefingPart.SAID
    return int(is_said), is_said and not memory.is_own


def _is_within(summary: dict[str, Any], other: dict[str, Any]) -> bool:
    if not summary.get("session_id") or summary["session_id"] != other.get("session_id"):
        return False
    # the first and the last place of each in its conversation, if it has them
    places: list[Any] = [one.get(name, one.get("turn")) for one in (summary, other) for name in _SPAN]
    if not all(isinstance(place, int) for place in places):
        return True
    begins, ends, other_begins, other_ends = places
    return bool(begins <= other_ends and other_begins <= ends)


def _is_the_same(memory: FoundMemory, other: FoundMemory) -> bool:
    """Return true if two memories of the same words mean the same: both ask or neither does, and about the same.

    "She lives in Hue" is said of two people. A message names no subject.
    """
    one_of_them = not memory.about or not other.about or memory.about == other.about
    return one_of_them and is_question(memory.text) == is_question(other.text)


def _repeats(memory: FoundMemory, other: FoundMemory) -> bool:
    """Return true if a memory only repeats another one that is trusted at least as much.

    "I like tea" neither repeats "Do I like tea?" nor "I don't like tea", nor does "at 5" repeat "at 6".
    """
    if memory.is_own and not other.is_own:
        return False
    size, of_other = len(memory.key), len(other.key)
    if size <= of_other and memory.key in other.key and memory.key.count(" ") >= _FEW_WORDS:
        return _means_the_same(memory, other)
    # texts of which one is longer do not share so many words
    if not _ALIKE_IN_LENGTH < size / of_other < 1 / _ALIKE_IN_LENGTH:
        return False
    shared = len(memory.words & other.words)
    if shared <= NEARLY_ALL * (len(memory.words) + len(other.words) - shared):
        return False
    # a number that only one of them has
    differs = any(any(map(str.isdigit, word)) for word in memory.words ^ other.words)
    return not differs and _means_the_same(memory, other)


def _means_the_same(memory: FoundMemory, other: FoundMemory) -> bool:
    one, two = ((is_question(text), bool(denial_of(text))) for text in (memory.text, other.text))
    return one == two


def _only_asks(memory: FoundMemory, facts: Sequence[FoundMemory]) -> bool:
    """Return true if a user message asks and states nothing, and its answer says no more than the facts."""
    is_short = memory.is_own and memory.part is BriefingPart.SAID and len(memory.text) <= _ASKING_CHARS
    if not (is_short and is_question(memory.text)):
        return False
    answers = (frozenset(index_terms(answer[:MAX_PARTNER_CHARS])) for answer in memory.partners)
    says_no_more = all(any(fact.terms and fact.terms <= answer for fact in facts) for answer in answers)
    # statements take the longest to find
    return says_no_more and not statements_in(memory.text)


_CUTS = (MAX_LINE_CHARS // 2, MAX_LINE_CHARS // 4, MAX_LINE_CHARS // 8)
"""Characters of a memory that is cut to make room for other scopes; fewer say nothing."""

_LINKED_TOKENS = 60
"""Maximum tokens of the links of a fact."""


def render_memories(results: Sequence[MemoryResultItem], max_tokens: int) -> PromptBlock[MemoryResultItem]:
    """Render results of `Memory.read` for the prompt: the profile, in half of the tokens at most, then the others."""
    profile = render_profile(results, max_tokens // 2)
    found = [FoundMemory(item) for item in results if item.scope is not MemoryScope.PROFILE]
    return profile + render_found(found, max_tokens - count_lines(profile.briefing))


def render_profile(
    results: Sequence[MemoryResultItem], max_tokens: int, zone: tzinfo = UTC
) -> PromptBlock[MemoryResultItem]:
    """Render the profile in `results`, a field a line; the block's item is the profile, its `dropped` counts fields."""
    items = [item for item in results if item.scope is MemoryScope.PROFILE and item.payload.get("fields")]
    lines = [line for item in items for line in profile_lines(item.payload)]
    if zone is not UTC:
        # where the user is, today; it changes once a day, and stands behind what never does
        lines.insert(0, f"- [today] {local(now(), zone):%Y-%m-%d, %A}, {zone}")
    kept: list[BriefingEntry] = []
    max_tokens -= HEADING_TOKENS[BriefingPart.PROFILE]
    for line in lines:
        if (cost := count_lines(line)) <= max_tokens:
            kept.append(BriefingEntry(BriefingPart.PROFILE, line))
            max_tokens -= cost
    return PromptBlock.of(kept, items, len(lines) - len(kept))


def render_found(
    found: Sequence[FoundMemory],
    max_tokens: int,
    favoured: Collection[str] = (),
    *,
    question: str = "",
    counts: LineTokens | None = None,
) -> PromptBlock[MemoryResultItem]:
    """Render the memories other than the profile.

    Each scope shows one memory, its best that leaves room for the other scopes; the rest is taken best first, a scope
    in turn. Each piece of evidence has one place (see `one_place`), and no answer stands below its question where it
    has a line of its own. The links of facts stand below them in the remaining room.

    Args:
        favoured: The scopes of which two come where one of another scope does.
        counts: Token counts by line, shared with other renderers.
    """
    ranked = one_place(_by_turns(found, favoured), question)
    shown = _Shown(ranked, max_tokens, LineTokens() if counts is None else counts)
    shown.seed()
    dropped = sum(place not in shown.lines and not shown.add(place) for place in range(len(ranked)))
    kept = sorted(shown.lines)
    for place in kept:
        shown.link(place)
    entries = [BriefingEntry(ranked[place].part, shown.lines[place]) for place in _in_order(ranked, kept)]
    return PromptBlock.of(entries, [ranked[place].item for place in kept], dropped)


def _in_order(ranked: Sequence[FoundMemory], kept: Sequence[int]) -> list[int]:
    """Return the shown ranks in the order of their lines: the most relevant last, the messages of one conversation
    together in their order, where the most relevant of them stands.
    """
    first: dict[str, int] = {}

    def place_of(rank: int) -> tuple[int, int, str]:
        payload = ranked[rank].item.payload
        if ranked[rank].item.source != MESSAGE.name or not payload.get("session_id"):
            return -rank, 0, ""
        best = first.setdefault(str(payload["session_id"]), rank)
        return -best, int(payload.get("turn") or 0), str(payload.get("created_at"))

    places = {rank: place_of(rank) for rank in kept}
    return sorted(kept, key=places.__getitem__)


class _Shown:
    """Lines shown so far, by the rank of their memories."""

    def __init__(self, ranked: Sequence[FoundMemory], room: int, counts: LineTokens) -> None:
        self.lines: dict[int, str] = {}
        self._ranked = ranked
        self._ids, self._keys = {memory.item.id for memory in ranked}, {memory.key for memory in ranked}
        self._counts = counts
        self._room = room
        self._said: set[str] = set()
        self._begun: set[BriefingPart] = set()

    def add(self, place: int, limit: int | None = None) -> bool:
        """Show a memory, with its neighbouring messages if they fit too; return true if it fits."""
        memory = self._ranked[place]
        room = self._room if limit is None else min(limit, self._room)
        line, beside = memory.line(), memory.beside(self._ids, self._keys)
        unsaid = {text: line for text, line in beside.items() if text not in self._said}
        # the memory itself counts more than what was said beside it
        for lines in (unsaid, {}) if unsaid else (unsaid,):
            if self._show(place, line + "".join(lines.values()), room):
                self._said.update(lines)
                return True
        return False

    def link(self, place: int) -> None:
        """Show the links of a shown memory, as far as they fit."""
        left = _LINKED_TOKENS
        for line in self._ranked[place].linked:
            told = self.lines[place] + line
            cost = self._counts[told] - self._counts[self.lines[place]]
            if cost <= min(left, self._room):
                self.lines[place] = told
                self._room -= cost
                left -= cost

    def _show(self, place: int, told: str, limit: int) -> bool:
        """Show a memory in some words, under the heading of its part; return true if it fits."""
        part = self._ranked[place].part
        heading = 0 if part in self._begun else HEADING_TOKENS[part]
        if (cost := self._counts[told] + heading) > limit:
            return False
        self.lines[place] = told
        self._begun.add(part)
        self._room -= cost
        return True

    def seed(self) -> None:
        """Show one memory of each scope: none is starved by the long or many memories of another."""
        scopes: dict[MemoryScope, list[int]] = {}
        for place, memory in enumerate(self._ranked):
            scopes.setdefault(memory.item.scope, []).append(place)
        left = len(scopes)
        for places in scopes.values():
            share, first = self._room // left, places[0]
            if not any(self.add(place, share) for place in places):
                any(self._show(first, self._ranked[first].line(chars), share) for chars in _CUTS)
            left -= 1


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
