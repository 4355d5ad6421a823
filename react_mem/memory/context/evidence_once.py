"""One piece of evidence in one place: of a message, its facts, its summaries and its episodes, what tells most.

A fact stands for the messages that it was drawn from, unless they say more that the question asks for; a summary is for
what has no line of its own. What says again what is shown, or was only asked before, is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from react_mem.memory.context.briefing_parts import BriefingPart
from react_mem.memory.context.found_memory import FoundMemory
from react_mem.memory.context.lines import MAX_PARTNER_CHARS
from react_mem.memory.language import denial_of, is_question, statements_in
from react_mem.memory.language.cues import cue
from react_mem.memory.language.indexed_words import index_terms
from react_mem.memory.model.kinds import SUMMARY
from react_mem.memory.model.records import SummaryLevel

NEARLY_ALL = 0.8
"""The share of words that two texts have in common from which the second says nothing new."""

_ALIKE_IN_LENGTH = 0.7
"""The share of characters of the other that a text has, at least, which has so many words in common with it."""

_FEW_WORDS = 3
"""Words of which fewer stand in many a text by chance."""

_ASKING_CHARS = 150
"""A message that is longer hardly only asks; reading it takes its time."""

_FIRST_LEVEL: SummaryLevel = "1"

_ASKED = cue("asked")


class EvidenceOnce:
    """Choice of what is shown of each piece of evidence, for a question.

    Args:
        question: What is asked; empty where nothing is, and then nothing is more than what stands for it.
    """

    def __init__(self, question: str) -> None:
        self._question = question

    @cached_property
    def _wanted(self) -> frozenset[str]:
        return frozenset(index_terms(self._question))

    def one_place(self, ranked: Sequence[FoundMemory]) -> list[FoundMemory]:
        """Return the memories that each have something of their own to say, in the same order.

        Args:
            ranked: What was found, the best first; each that is returned notes how many messages it stands for.
        """
        kept = _ShownEvidence()
        said: dict[str, list[FoundMemory]] = {}
        left_out: Counter[int] = Counter()
        for memory in sorted((one for one in ranked if one.key), key=_precedence):
            if any(_is_the_same(memory, other) for other in said.get(memory.key, ())):
                continue
            covering = kept.covering(memory)
            if covering and not self._says_more(memory, covering):
                left_out[id(covering[0])] += memory.part is BriefingPart.SAID
            elif memory.part not in _SECOND or not self._says_nothing(memory, kept.memories):
                said.setdefault(memory.key, []).append(memory)
                kept.add(memory)
        for memory in kept.memories:
            memory.stands_for(left_out[id(memory)])
        chosen = {id(memory) for memory in kept.memories}
        return [memory for memory in ranked if id(memory) in chosen]

    def _says_more(self, memory: FoundMemory, covering: Collection[FoundMemory]) -> bool:
        """Return whether a memory has a word of the question that nothing which stands for it has."""
        new = self._wanted & memory.terms
        return bool(new) and not new <= frozenset().union(*(other.terms for other in covering))

    def _says_nothing(self, memory: FoundMemory, kept: Sequence[FoundMemory]) -> bool:
        if any(_repeats(memory, other) for other in kept):
            return True
        facts = [other for other in kept if other.part is BriefingPart.FACTS]
        return bool(facts) and _only_asks(memory, facts) and not _ASKED.search(self._question)


class _ShownEvidence:
    """The memories that are shown so far, by the messages that they tell of."""

    def __init__(self) -> None:
        self.memories: list[FoundMemory] = []
        self._telling_of: dict[str, list[FoundMemory]] = {}

    def add(self, memory: FoundMemory) -> None:
        """Add a memory."""
        self.memories.append(memory)
        for id_ in (memory.item.id, *memory.item.source_ids):
            self._telling_of.setdefault(id_, []).append(memory)

    def covering(self, memory: FoundMemory) -> list[FoundMemory]:
        """Return what is kept of the same messages; nothing for what is a piece of evidence itself, as facts are."""
        if memory.item.source == SUMMARY.name:
            return self._of_summary(memory)
        if memory.part is not BriefingPart.SAID:
            return []
        found = self._of([memory.item.id, *memory.item.source_ids])
        return [other for other in found if other.part is BriefingPart.FACTS]

    def _of_summary(self, summary: FoundMemory) -> list[FoundMemory]:
        payload = summary.item.payload
        if payload.get("level", _FIRST_LEVEL) != _FIRST_LEVEL:
            # its sources are summaries: it is of the same conversation
            return [other for other in self.memories if _is_summed_up(payload, other)]
        found = self._of([summary.item.id, *summary.item.source_ids])
        higher = (one for one in self.memories if one.item.source == SUMMARY.name and one not in found)
        return [*found, *(one for one in higher if _is_within(payload, one.item.payload))]

    def _of(self, ids: Iterable[str]) -> list[FoundMemory]:
        found = (memory for id_ in ids for memory in self._telling_of.get(id_, ()))
        return list(dict.fromkeys(found))


_SECOND = (BriefingPart.SAID, BriefingPart.EARLIER)


def _precedence(memory: FoundMemory) -> tuple[int, bool]:
    """Return the order in which memories are taken for the place of their evidence: facts, messages, summaries."""
    if memory.item.source == SUMMARY.name:
        return 2, False
    is_said = memory.part is BriefingPart.SAID
    return int(is_said), is_said and not memory.is_own


def _is_summed_up(summary: dict[str, object], other: FoundMemory) -> bool:
    """Return whether a summary is of the conversation of a memory, or of one of those in which a fact was said."""
    places = [one.model_dump(exclude_none=True) for one in other.item.said_in]
    return any(_is_within(summary, place) for place in places or [other.item.payload])


def _is_within(summary: dict[str, object], other: dict[str, object]) -> bool:
    if not summary.get("session_id") or summary["session_id"] != other.get("session_id"):
        return False
    spans = list(_spans(summary)), list(_spans(other))
    if not all(spans):
        return True
    [(begins, ends)], [(other_begins, other_ends)] = spans
    return begins <= other_ends and other_begins <= ends


def _spans(payload: dict[str, object]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last place in its conversation that a record tells of, where it says so."""
    first, last = payload.get("first_turn", payload.get("turn")), payload.get("last_turn", payload.get("turn"))
    if isinstance(first, int) and isinstance(last, int):
        yield first, last


def _is_the_same(memory: FoundMemory, other: FoundMemory) -> bool:
    """Return whether two memories of the same words say the same: both ask or neither does, and about the same.

    "She lives in Hue" is said of two people. Of whom a message is, nobody says.
    """
    one_of_them = not memory.about or not other.about or memory.about == other.about
    return one_of_them and is_question(memory.text) == is_question(other.text)


def _repeats(memory: FoundMemory, other: FoundMemory) -> bool:
    """Return whether a memory only says again what another one says, which nobody trusts less.

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
    return _numbers(memory) == _numbers(other) and _means_the_same(memory, other)


def _means_the_same(memory: FoundMemory, other: FoundMemory) -> bool:
    return is_question(memory.text) == is_question(other.text) and bool(denial_of(memory.text)) == bool(
        denial_of(other.text)
    )


def _numbers(memory: FoundMemory) -> frozenset[str]:
    return frozenset(word for word in memory.words if any(map(str.isdigit, word)))


def _only_asks(memory: FoundMemory, facts: Sequence[FoundMemory]) -> bool:
    """Return whether a message of the user's asks and states nothing, and was told no more than facts tell."""
    is_short = memory.is_own and memory.part is BriefingPart.SAID and len(memory.text) <= _ASKING_CHARS
    if not (is_short and is_question(memory.text)) or statements_in(memory.text):
        return False
    answers = [frozenset(index_terms(answer[:MAX_PARTNER_CHARS])) for answer in memory.partners]
    return all(any(fact.terms and fact.terms <= answer for fact in facts) for answer in answers)
