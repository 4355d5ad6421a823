"""Recall: a question, its understanding without a model, and a search by all arms at once."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from langgraph.store.base import Item, SearchItem

from react_mem.memory.index import entries
from react_mem.memory.index.entries import mark, meets, passage_of, term_number
from react_mem.memory.index.ranked_hits import Hit, RankedHits
from react_mem.memory.index.texts import Floats, Rows
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, fold
from react_mem.memory.language.statements import cue_words, role_asked
from react_mem.memory.language.terms import index_terms, index_words
from react_mem.memory.language.times import Period, asks_when, named_periods
from react_mem.memory.language.times.vocabulary import shift
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.records import with_zone

# Query understanding without a model: words, names and times of a question.

log = logging.getLogger(__name__)

MAX_TERMS = 24
"""Words of a question that count; a long question repeats its topic."""

_WEAK = 0.4
"""Weight of a word for the kind of answer rather than its topic: "what kind of pet". Measured on conversations and on
the stress set: 1.0 costs a point of recall, 0.25 changes nothing.
"""

_WEAK_WORDS = frozenset(index_terms(cue_words("weak_in_questions")))


@dataclass(frozen=True)
class Question:
    """A parsed question.

    `text`, which is embedded, is without the speakers' names: these stand in every message of others and in none of
    their own. `speaker` is the mark of the expected one; empty if unknown. `names` are as words, and not among the
    weighted `terms`. `missing` has the arms that lost their part of the question to an error, with the cause.
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    speaker: str
    periods: tuple[Period, ...]
    asks_when: bool
    names: tuple[str, ...] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict, compare=False)
    zone: tzinfo = UTC

    def naming(self) -> Question:
        """Return the question with the names among its words: for facts, which name people, unlike messages."""
        if not self.names:
            return self
        named = tuple((name, 1.0) for name in self.names)
        return replace(self, terms=(*named, *self.terms)[:MAX_TERMS], speaker="")


def read_question(query: str, now: datetime, speakers: Iterable[str] = ()) -> Question:
    """Parse a question, its times relative to `now`; `speakers` are the names in the owner's conversations."""
    asked = query[:MAX_INDEXED_CHARS]
    named = _named(asked, speakers)
    text = _without(asked, named)
    # "Who is Ann?" asks for nothing but her
    names = {term for name in named for term in index_terms(name)} if index_terms(text) else set()
    marks = {mark("speaker", name) for name in named}
    role = "" if named else role_asked(asked)
    speaker = marks.pop() if len(marks) == 1 else mark("role", role) if role else ""
    distinct = dict.fromkeys(term for term in index_terms(asked) if term not in names)
    weights = {term: _WEAK if term in _WEAK_WORDS else 1.0 for term in distinct}
    # of a long one, the words that say most
    kept = set(sorted(weights, key=lambda term: (-weights[term], -len(term)))[:MAX_TERMS])
    missing: dict[Arm, str] = {}
    try:
        periods, when = named_periods(asked, now), asks_when(asked)
    except Exception as error:  # of all that is read of a question this computes with what it says
        missing[Arm.TIME] = cause_of(error)
        log.warning("memory is searched without the times of the question: %s", missing[Arm.TIME])
        periods, when = (), False
    return Question(
        text=text if index_terms(text) else asked,
        terms=tuple((term, weights[term]) for term in weights if term in kept),
        speaker=speaker,
        periods=periods,
        asks_when=when,
        names=tuple(sorted(names)),
        missing=missing,
        zone=now.tzinfo or UTC,
    )


def _named(asked: str, speakers: Iterable[str]) -> list[str]:
    """Return the speakers that a question names, the fullest matching names only."""
    said = set(index_words(asked))
    parts = {name: frozenset(index_words(name)) for name in speakers}
    found = [
        name
        for name, its in parts.items()
        if its
        and its <= said
        # "will" is no person, "Will" is
        and (index_terms(name) or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked))
    ]
    # who asks for "Ann Lee" asks for one, though there is an "Ann" too
    return [name for name in found if not any(parts[name] < parts[other] for other in found)]


def _without(asked: str, named: list[str]) -> str:
    if not named:
        return asked
    # a name may be typed without its diacritics
    ways = sorted({way for name in named for way in (name, fold(name))}, key=len, reverse=True)
    pattern = "|".join(map(re.escape, ways))
    left = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)(?:['’]s?)?", " ", asked, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", left).strip(" ,")


class RecallOp(NamedTuple):
    """Recall request for one namespace, without those below it and without some keys.

    `conditions` are required or refused values of indexed fields (`memory.model.kinds.filter_marks`): {"kind": "fact"},
    {"status": {"$ne": "archived"}}. `similarity` is the least for proposals of the vector arm; `pairs` adds to each
    message its question or answer.
    """

    namespace: tuple[str, ...]
    question: Question
    conditions: Mapping[str, Any]
    limit: int
    without: tuple[str, ...] = ()
    similarity: float = 0.0
    arms: frozenset[Arm] = ALL_ARMS
    pairs: bool = False


def scored(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


PARTNER_FIELDS = ("role", "text", "created_at", "origin", "speaker")
"""Fields of a message's partner, beside its id."""


@dataclass(frozen=True)
class RecallHit:
    """One recalled item; its score is the sum of the arms.

    Args:
        similarity: Calibrated similarity of its nearest text, from 0 to 1; None without vectors.
        passage: Matching part of a long text; empty for the whole text.
        partner: The question or answer that belongs to a message, as `id` and `PARTNER_FIELDS`; None for none.
    """

    item: SearchItem
    arms: Mapping[Arm, float]
    similarity: float | None
    passage: str = ""
    partner: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        return self.item.key

    @property
    def text(self) -> str:
        """The matching passage, or else the whole text."""
        return self.passage or str(self.item.value.get("text", ""))


@dataclass(frozen=True)
class Recall:
    """Recall results, the best first, and the arms that failed, with the reason.

    `idle` is the similarity that small talk reaches on their scale, None where similarities say little; `names` are
    those in the question.
    """

    found: Sequence[RecallHit] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict)
    idle: float | None = None
    names: tuple[str, ...] = ()

    def without(self, causes: Mapping[Arm, str]) -> Recall:
        return replace(self, missing={**self.missing, **causes}) if causes else self


# Facts whose own last day has passed: they are read as history, though nobody has ended them.


def is_over(value: Mapping[str, Any], at: datetime) -> bool:
    """Return true if a believed fact's validity ended before a time, which has a zone."""
    until = value.get("valid_to")
    if not FACT.matches(value) or not value.get("current", True) or not until:
        return False
    return with_zone(datetime.fromisoformat(str(until))) < at


def as_read(value: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return a record as of a time, which has a zone: not current if over by then."""
    return {**value, "current": False} if is_over(value, at) else dict(value)


def only(answer: Any, wanted: Callable[[Mapping[str, Any]], bool]) -> Any:
    """Filter a store's answer, items or a recall, by the values."""
    if isinstance(answer, Recall):
        return replace(answer, found=[one for one in answer.found if wanted(one.item.value)])
    return [item for item in answer if wanted(item.value)]


# Hits of a recall on their way to be shown: each as its item is by then, if it still is what was asked for.

_AT_ONCE = 1_000
"""Hits of one read."""


class CosineScale(Protocol):
    """Calibration of an embedder's cosines to the common scale of similarity (see `memory.store.calibration`)."""

    @property
    def separates(self) -> bool: ...
    @property
    def rise(self) -> float: ...
    @property
    def idle(self) -> float | None: ...
    def cosine(self, similarity: float) -> float: ...
    def similarity(self, cosine: float) -> float: ...


class HitsToShow:
    """Hits of one recall on their way to results: items that still exist and meet the conditions."""

    def __init__(self, op: RecallOp, ranking: RankedHits | None = None) -> None:
        self.op = op
        self._idle: float | None = None
        self.begin(ranking)

    def begin(self, ranking: RankedHits | None) -> None:
        """Restart with another ranking."""
        self._ranking = ranking
        self._hits: Iterator[Hit] = iter(ranking) if ranking is not None else iter(())
        self.waiting: list[tuple[Hit, list[str]]] = []
        self.found: list[RecallHit] = []

    def advance(self) -> list[tuple[Hit, list[str]]]:
        """Return the next hits to read, each with candidate partners; none when enough is found or nothing is left."""
        room = min(max(self.op.limit - len(self.found), 0), _AT_ONCE)
        pairs = self._ranking if self.op.pairs else None
        self.waiting = [(hit, pairs.partners(hit) if pairs is not None else []) for hit in islice(self._hits, room)]
        return self.waiting

    def take(
        self, items: Mapping[str, Item | None], partners: Mapping[str, Item | None], scale: CosineScale | None
    ) -> None:
        """Take the hits of the last `advance`, as far as their items and partners are there; None is gone."""
        self._idle = scale.idle if scale is not None and scale.separates else None
        for hit, keys in self.waiting:
            item = items.get(hit.key)
            if item is None or not meets(self.op.conditions, item.value):
                continue
            role = item.value.get("role")
            others = (
                {"id": key, **{name: other.value.get(name) for name in PARTNER_FIELDS}}
                for key in keys
                if (other := partners.get(key)) is not None
            )
            self.found.append(
                RecallHit(
                    scored(item, hit.score),
                    arms=hit.arms,
                    similarity=None if scale is None or hit.cosine is None else scale.similarity(hit.cosine),
                    passage=passage_of(hit.field_name, item.value),
                    partner=next((one for one in others if one["role"] not in (None, role)), None),
                )
            )

    def recall(self, missing: Mapping[Arm, str]) -> Recall:
        """Return the result, with the causes of the arms that this recall asked in vain."""
        own = {arm: cause for arm, cause in missing.items() if arm in self.op.arms}
        return Recall(self.found, own, self._idle, self.op.question.names)


# The table of the arms' weights, and the parameters of one recall.

# Score fusion: a weighted sum of the arms' scores, with weights chosen by measurement.

LEXICAL = 1.0
"""BM25 in its own units: sum of the words' inverse document frequencies (natural logarithm), saturated."""

VECTOR = 48.0
"""Weight of the calibrated similarity (0.5 unrelated, 0.9 nearest), the same for all embedders."""

WINDOW = 22.0
"""Weight of the neighbours' mean similarity, on the same scale; a text without neighbours counts by its own."""

SPEAKER = 7.0
"""Spoken by the person in the question, or by the user for a question with "I"."""

SPEAKS_OF_ITSELF = 1.0
"""In the first person: questions are about people, not about their remarks."""

TIME = 7.5
"""Spoken in a period of the question, decaying with the distance."""

TIME_DECAY_DAYS = 14.0
"""Days of decay to a third: people mention "yesterday" and "last weekend" some days later."""

TELLS_WHEN = 0.9
"""Mentions a time, where the question asks for one."""

HUB = 16.5
"""Hubness correction on the vectors' scale: a text that is near to everything says little ("cross-domain similarity
local scaling", Conneau et al., 2018).
"""

INSTRUCTS = 1.0
"""Weight of a standing instruction of the user."""

INSTRUCTS_ON = 190.0
"""Weight of its similarity above the mean of all instructions, on the vectors' scale. An instruction shares the topic
with the question at most, and no word; this picks the right one of several.
"""

PREFERS = 5.0
"""Weight of a preference of the user."""

PREFERS_ON = 190.0
"""Weight of its similarity above the mean of all preferences."""

SATURATION = 0.8
"""BM25's k1: how soon repetitions of a word stop counting."""

LENGTH = 0.75
"""BM25's b: the discount of a long text's words. Firm: long answers mention everything."""

KERNEL = (0.25, 0.5, 1.0, 0.6, 0.3)
"""Weights of a word two texts before, one before, in the text, one after, two after: the words of a question find its
answer. Measured on LoCoMo's conversations by BM25 alone: without 60.7 % recall@10, with 72.
"""

SEEDS = 30
"""Proposals of an arm. With their neighbours some 150 texts are scored; twice as many, or all of them, find no more
(measured: 83.0 % recall@10 over both sets with 30, 82.8 with 60).
"""


# Parameters of one recall.

INSTRUCTION = term_number(mark("standing", "instruction"))
PREFERENCE = term_number(mark("standing", "preference"))

_NO_COSINE = 2.0
"""A threshold above any cosine."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1) // _MICROSECOND


def microseconds(at: datetime) -> int:
    """Return the index's form of a time with a zone."""
    return (at - _EPOCH) // _MICROSECOND


class Weights(NamedTuple):
    """Parameters of one recall. A disabled arm has no words, marks (0), periods or weight.

    A text must have all marks `required`, and none `refused`. Periods are in microseconds. Texts up to `reach` from a
    proposal are scored too; `unrelated` is the cosine of an unrelated text, the zero of the vector arm; `around` is the
    weight of the neighbours' cosine. `standing` are marks, each with its base weight and that of the cosine above the
    mean of its kind.
    """

    words: Mapping[int, float]
    required: tuple[int, ...]
    refused: tuple[int, ...]
    speaker: int
    itself: int
    when: int
    starts: Rows
    ends: Rows
    kernel: Floats
    reach: int
    seeds: int
    min_cosine: float
    unrelated: float
    cosine: float
    around: float
    standing: tuple[tuple[int, float, float], ...]
    hub: float

    @classmethod
    def of(cls, op: RecallOp, scale: CosineScale) -> Weights:
        question = op.question
        on = {arm: float(arm in op.arms) for arm in Arm}
        periods = question.periods if on[Arm.TIME] else ()
        middle = len(KERNEL) // 2
        kernel = np.array(KERNEL) * on[Arm.WINDOW]
        kernel[middle] = KERNEL[middle]
        rise = scale.rise
        least = scale.cosine(op.similarity) if scale.separates else -1.0
        standing = (
            (INSTRUCTION, INSTRUCTS, INSTRUCTS_ON * rise),
            (PREFERENCE, PREFERS, PREFERS_ON * rise),
        )
        return cls(
            words={term_number(term): weight for term, weight in question.terms} if on[Arm.LEXICAL] else {},
            required=_marks(op.conditions, wanted=True),
            refused=_marks(op.conditions, wanted=False),
            speaker=term_number(question.speaker) if on[Arm.SPEAKER] and question.speaker else 0,
            itself=term_number(entries.SPEAKS_OF_ITSELF) if on[Arm.SPEAKER] else 0,
            when=term_number(entries.TELLS_WHEN) if on[Arm.TIME] and question.asks_when else 0,
            starts=np.array([_day(period.start, question.zone) for period in periods], dtype=np.int64),
            ends=np.array([_day(shift(period.end, 1), question.zone) for period in periods], dtype=np.int64),
            kernel=kernel,
            reach=middle if on[Arm.WINDOW] else 0,
            seeds=max(SEEDS, op.limit),
            min_cosine=least if on[Arm.VECTOR] else _NO_COSINE,
            unrelated=scale.cosine(0.5),
            cosine=on[Arm.VECTOR] * VECTOR * rise,
            around=on[Arm.VECTOR] * on[Arm.WINDOW] * WINDOW * rise,
            standing=standing if on[Arm.STANDING] * on[Arm.VECTOR] else (),
            hub=on[Arm.VECTOR] * on[Arm.HUB] * HUB * rise,
        )


def _marks(conditions: Mapping[str, object], *, wanted: bool) -> tuple[int, ...]:
    return tuple(
        term_number(mark(name, value["$ne"] if isinstance(value, Mapping) else value))
        for name, value in conditions.items()
        if isinstance(value, Mapping) is not wanted
    )


def _day(day: date, zone: tzinfo) -> int:
    """Return the beginning of a day in a zone; at the ends of the calendar, in UTC."""
    try:
        return microseconds(datetime.combine(day, time(), zone))
    except OverflowError:
        return (day.toordinal() - _EPOCH.toordinal()) * DAY
