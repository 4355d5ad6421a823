"""The scorer of a recall: every arm over one namespace's texts, in NumPy.

Each arm proposes texts; these and their neighbours in the conversation are scored by all arms, and the weighted sum
decides (weights in `memory.index.recall`). Measured with 384 dimensions on a busy machine: 200 texts in 0.6 ms, 2,000
in 1.3, 10,000 in 2.7, 30,000 in 6.4, of which comparing the vectors is 0.05, 0.3, 1.5 and 4.6. Recalls with the same
question and texts share the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.index import recall as fusion
from react_mem.memory.index.ranked_hits import KnownCosines, Parts, RankedHits, VectorCosines, highest, lowest_unknown
from react_mem.memory.index.recall import DAY, CosineScale, RecallOp, Weights
from react_mem.memory.index.texts import NO_PLACE, NO_TIME, Floats, IndexedTexts, Rows
from react_mem.memory.model.interface import Arm

Mask = NDArray[np.bool_]

_AROUND = 2
"""Distance at which neighbours count for a text."""

_LEAST = 700.0
"""Largest negative exponent of the decay; beyond it the result is 0 anyway."""


_Standing = tuple[Rows, float, float, float]
"""Texts of a kind that are near enough to be proposed, the mean cosine of their kind, and its two weights."""


@dataclass(frozen=True)
class Corpus:
    """Statistics of a whole namespace, for an index with candidates only; `having` has document frequencies."""

    texts: int
    length: float
    having: Mapping[int, int]


def score_compared(known: KnownCosines, op: RecallOp, scale: CosineScale, corpus: Corpus | None = None) -> RankedHits:
    """Return the ranked hits of a recall. Blocking (see the module for times); use a thread above 20,000 texts.

    Where the index has candidates only, `corpus` has the statistics of all texts.
    """
    texts, weights = known.texts, Weights.of(op, scale)
    compared = known if weights.cosine else KnownCosines(texts)
    eligible = np.ones(texts.size, dtype=bool) if texts.alive is None else texts.alive.copy()
    eligible[texts.texts_of(op.without)] = False
    for mark in weights.required:
        eligible &= texts.marked(mark)
    for mark in weights.refused:
        eligible &= ~texts.marked(mark)
    if not eligible.any():
        return RankedHits(texts)
    words = _AskedWords.of(texts, weights, corpus)
    comparable = eligible & ~np.isnan(compared.cosines)
    # in descending order, without a threshold
    near = compared.nearest(np.flatnonzero(comparable), weights.seeds)
    near = near[np.argsort(-compared.cosines[near], kind="stable")]
    proposed = [near[compared.cosines[near] >= weights.min_cosine]]
    if words is not None:
        worded = np.flatnonzero(eligible & (words.sets != 0))
        proposed.append(worded[highest(words.scores(worded), weights.seeds)])
    if len(weights.starts):
        timely = np.flatnonzero(eligible & _within(texts.said_at, weights))
        proposed.append(compared.nearest(timely, weights.seeds))
    standing: list[_Standing] = []
    for mark, base, weight in weights.standing:
        kind = compared.nearest(np.flatnonzero(comparable & texts.marked(mark) & ~texts.unread), fusion.SEEDS)
        if len(kind):
            cosine = compared.cosines[kind]
            proposed.append(kind[cosine >= max(weights.unrelated, weights.min_cosine)])
            standing.append((proposed[-1], float(cosine.mean()), base, weight))
    every = np.concatenate(proposed)
    if not len(every):
        return RankedHits(texts)
    region = _Region.of(texts, every, weights.reach)
    parts = _scored(region, eligible, compared, words, standing, near[: fusion.SEEDS], weights)
    return RankedHits(texts, parts)


def nearest(texts: IndexedTexts, vector: Sequence[float] | NDArray[np.float32], count: int) -> list[tuple[str, float]]:
    """Return the items of the `count` texts nearest to a vector with their cosines, those without a direction last."""
    compared = VectorCosines(texts, vector)
    embedded = texts.order[~np.isnan(texts.squares[texts.order])]
    found = compared.nearest(embedded, count)
    cosines = compared.cosines[found]
    order = np.argsort(-lowest_unknown(cosines), kind="stable")
    best: dict[str, float] = {}
    for text, cosine in zip(found[order].tolist(), cosines[order].tolist(), strict=True):
        best.setdefault(texts.key(text), cosine)
    return list(best.items())


@dataclass(frozen=True)
class _AskedWords:
    """The question's words in the texts.

    `rarities` are the weights of the words that occur at all. Each text has its words as a bit set, the sum of their
    weights, and its length, of which `mean` is the mean.
    """

    rarities: Floats
    sets: Rows
    sums: Floats
    lengths: NDArray[np.float32]
    mean: float

    @classmethod
    def of(cls, texts: IndexedTexts, weights: Weights, corpus: Corpus | None) -> _AskedWords | None:
        """Return the statistics of the words; None if no text has any."""
        numbers = list(weights.words)
        if not numbers:
            return None
        every, of_words = texts.texts_with(np.array(numbers, dtype=np.int32))
        read = ~texts.unread[every]
        every, of_words = every[read], of_words[read]
        counts = np.bincount(of_words, minlength=len(numbers))
        kept = np.flatnonzero(counts)
        if not len(kept):
            return None
        having = counts[kept].astype(np.float64)
        total, length = float(len(texts)), texts.total_length
        if corpus is not None:
            total, length = float(corpus.texts), corpus.length
            having = np.array([corpus.having[numbers[place]] for place in kept], dtype=np.float64)
        weight = np.array([weights.words[numbers[place]] for place in kept])
        rarities = weight * np.log(1 + (total - having + 0.5) / (having + 0.5))
        of_kept = (np.cumsum(counts > 0) - 1)[of_words]
        return cls(
            rarities,
            np.bincount(every, (2.0 ** np.arange(len(kept)))[of_kept], minlength=texts.size).astype(np.int64),
            np.bincount(every, rarities[of_kept], minlength=texts.size).astype(np.float64),
            texts.lengths,
            max(length / total, 1),
        )

    def shares(self, wanted: Rows) -> Floats:
        """Return the length discount of texts."""
        return 1 / (1 - fusion.LENGTH + fusion.LENGTH * self.lengths[wanted].astype(np.float64) / self.mean)

    def scores(self, wanted: Rows) -> Floats:
        share = self.shares(wanted)
        return self.sums[wanted] * share * (fusion.SATURATION + 1) / (fusion.SATURATION + share)


def _none_unknown(cosine: Floats) -> Floats:
    return np.where(np.isnan(cosine), 0.0, cosine)


def _within(said_at: Rows, weights: Weights) -> Mask:
    found = np.zeros(len(said_at), dtype=bool)
    for start, end in zip(weights.starts, weights.ends, strict=True):
        found |= (said_at >= start) & (said_at <= end)
    return found


@dataclass(frozen=True)
class _Region:
    """The proposed texts, their neighbours, which may be scored too, and in turn those, which count for them.

    Its texts are ordered by place, with the conversation of each (-1 for none). `reached` is the mask of the proposed
    and their neighbours; `around` is the distance at which neighbours count, 0 outside of conversations.
    """

    texts: Rows
    conversations: Rows
    reached: Mask
    around: int

    @classmethod
    def of(cls, texts: IndexedTexts, proposed: Rows, reach: int) -> _Region:
        ranks = texts.ranks[proposed]
        placed = ranks[ranks < len(texts.ordered_places)]
        around = _AROUND if len(placed) else 0
        widest = reach + around
        marked = np.zeros(len(texts) + 2 * widest, dtype=bool)
        marked[ranks + widest] = True
        if len(placed):
            marked[placed[:, np.newaxis] + np.arange(2 * widest + 1)] = True
        numbers = np.flatnonzero(marked[widest : widest + len(texts)])
        if not len(placed):
            return cls(texts.order[numbers], np.full(len(numbers), -1), np.ones(len(numbers), dtype=bool), 0)
        members = texts.order[numbers]
        places = texts.places[members]
        conversations = np.where(places == NO_PLACE, -1, places >> 32)
        own = np.searchsorted(numbers, ranks)
        reached = np.zeros(len(numbers), dtype=bool)
        beside, is_one = _neighbours(own, conversations, reach)
        reached[beside[is_one]] = True
        return cls(members, conversations, reached, around)


def _neighbours(own: Rows, conversations: Rows, reach: int) -> tuple[Rows, Mask]:
    """Return the positions around some in a region, a row each, and a mask for the same conversation."""
    around = own[:, np.newaxis] + np.arange(-reach, reach + 1)
    there = (around >= 0) & (around < len(conversations))
    around = np.where(there, around, own[:, np.newaxis])
    of_own = conversations[own][:, np.newaxis]
    same = there & (conversations[around] == of_own) & (of_own >= 0)
    same[:, reach] = True
    return around, same


def _scored(
    region: _Region,
    eligible: Mask,
    compared: KnownCosines,
    words: _AskedWords | None,
    standing: Sequence[_Standing],
    near: Rows,
    weights: Weights,
) -> Parts:
    own = np.flatnonzero(region.reached & eligible[region.texts])
    around, same = _neighbours(own, region.conversations, region.around)
    members = region.texts[own]
    cosines = compared.cosines[region.texts]
    cosine = cosines[own]
    lexical = np.zeros(len(own)) if words is None else _lexical(region.texts, words, around, same, weights)
    said_at = compared.texts.said_at[members]
    within = _within(said_at, weights)
    kept = np.isnan(cosine) | (cosine >= weights.min_cosine) | (lexical > 0) | within
    for one, *_ in standing:
        kept |= np.isin(members, one)
    if not weights.cosine:
        kept[:] = True
    beside = cosine
    if region.around:
        beside = _mean_around(cosines, around, same)
        beside = np.where(np.isnan(beside), cosine, beside)
    contributions: dict[Arm, Floats] = {
        Arm.VECTOR: weights.cosine * _none_unknown(cosine - weights.unrelated),
        Arm.LEXICAL: fusion.LEXICAL * lexical,
        Arm.WINDOW: weights.around * _none_unknown(beside - weights.unrelated),
        Arm.SPEAKER: fusion.SPEAKER * _has(compared.texts, members, weights.speaker, weights)
        + fusion.SPEAKS_OF_ITSELF * _has(compared.texts, members, weights.itself, weights),
        Arm.TIME: _time(said_at, weights) + fusion.TELLS_WHEN * _has(compared.texts, members, weights.when, weights),
        # a base, and more for the best match
        Arm.STANDING: sum(
            (
                np.isin(members, one) * (base + weight * np.maximum(_none_unknown(cosine - mean), 0))
                for one, mean, base, weight in standing
            ),
            np.zeros(len(own)),
        ),
        Arm.HUB: -weights.hub * compared.crowding(members, near) if weights.hub else np.zeros(len(own)),
    }
    return Parts(members[kept], cosine[kept], {arm: column[kept] for arm, column in contributions.items()})


def _lexical(texts: Rows, words: _AskedWords, around: Rows, same: Mask, weights: Weights) -> Floats:
    """Return BM25 of texts, in which words of their neighbours count less."""
    has = (words.sets[texts][:, np.newaxis] >> np.arange(len(words.rarities)) & 1).astype(np.float64)
    beside, middle = around.shape[1] // 2, len(weights.kernel) // 2
    kernel = weights.kernel[middle - beside : middle + beside + 1]
    shares = kernel * words.shares(texts)[around] * same
    times = np.zeros((len(around), len(words.rarities)))
    for away in range(around.shape[1]):
        times += shares[:, away, np.newaxis] * has[around[:, away]]
    found: Floats = (words.rarities * times * (fusion.SATURATION + 1) / (fusion.SATURATION + times)).sum(axis=1)
    return found


def _mean_around(cosine: Floats, around: Rows, same: Mask) -> Floats:
    """Return the mean cosine of each text's neighbours; NaN for none."""
    others = cosine[around]
    counted = same & ~np.isnan(others)
    counted[:, _AROUND] = False
    number = counted.sum(axis=1, dtype=np.float64)
    number[number == 0] = np.nan
    found: Floats = np.where(counted, others, 0.0).sum(axis=1) / number
    return found


def _time(said_at: Rows, weights: Weights) -> Floats:
    """Return the contributions of the time arm, decaying around the periods; 0 for an unknown time."""
    if not len(weights.starts):
        return np.zeros(len(said_at))
    is_known = said_at != NO_TIME
    known = np.where(is_known, said_at, weights.starts[0])[:, np.newaxis]
    distances = np.maximum(np.maximum(weights.starts - known, known - weights.ends), 0)
    days = distances.min(axis=1) / DAY / fusion.TIME_DECAY_DAYS
    found: Floats = fusion.TIME * np.exp(-np.minimum(days, _LEAST)) * is_known
    return found


def _has(texts: IndexedTexts, members: Rows, mark: int, weights: Weights) -> Mask:
    """Return a mask of the texts with a mark. Unread texts have only the marks of the conditions."""
    if not mark:
        return np.zeros(len(members), dtype=bool)
    found = texts.marked(mark)[members]
    if mark not in weights.required + weights.refused:
        found &= ~texts.unread[members]
    return found
