"""Recall of the evidence, by category and over all questions, with the interval that chance leaves it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

CUTS = (5, 10, 20)
ALL_AT = 10
LIMIT = max(CUTS)
"""Results that every system is asked for."""

RESAMPLES = 10_000
"""Drawn with replacement: the ends of an interval are then stable to a tenth of a point."""

_DRAWN_AT_ONCE = 100
_SEED = 1

_TOKENS = "prompt_tokens"
_BOUNDED = (f"recall@{ALL_AT}", f"all_evidence@{ALL_AT}", "prompt_evidence")
"""Metrics that have an interval."""


@dataclass(frozen=True)
class Prompt:
    """Evidence in the prompt that a question is asked with.

    Args:
        turns: The turns that a line of it stands for.
        tokens: What everything in it takes that was retrieved.
    """

    turns: frozenset[str]
    tokens: int


@dataclass(frozen=True)
class Ranking:
    """Results of a question.

    Args:
        found: The turns, best first; a result that is no turn takes its place as well.
        evidence: The turns that answer the question.
        groups: What it counts towards, beside the whole: its category, its file.
        conversation: The owner of the memory that was asked.
        context_tokens: Of what was found, rendered for a prompt.
        milliseconds: What the search took, without the embedding of the question.
        embedding_milliseconds: What that took.
        prompt: What comes into a prompt; None where only the search is looked at.
    """

    found: Sequence[str]
    evidence: frozenset[str]
    groups: tuple[str, ...]
    conversation: str
    context_tokens: int
    milliseconds: float
    embedding_milliseconds: float
    prompt: Prompt | None = None


def recall(found: Sequence[str], evidence: Collection[str], cut: int) -> float:
    """Return how much of the evidence is among the first results.

    >>> recall(["D1:1", "D1:2", "D1:3"], {"D1:1", "D1:3"}, 2)
    0.5
    """
    return len(set(found[:cut]) & set(evidence)) / len(evidence)


def reciprocal_rank(found: Sequence[str], evidence: Collection[str]) -> float:
    """Return 1 / the place of the first evidence, 0 without one.

    >>> reciprocal_rank(["D1:1", "D1:2"], {"D1:2", "D1:9"})
    0.5
    """
    return next((1 / place for place, id_ in enumerate(found, start=1) if id_ in evidence), 0.0)


def quality(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return means over all questions, and by group as `recall@10.multi_hop`.

    Args:
        rankings: One a question; not empty.
    """
    scores: dict[str, float] = {}
    for group, part in _by_group(rankings).items():
        scores |= {f"{metric}{group}": value for metric, value in _means(part).items()}
    return scores | {"context_tokens": round(fmean(ranking.context_tokens for ranking in rankings), 1)}


def intervals(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return the ends of the intervals of some means, by the names of those.

    Args:
        rankings: One a question; not empty.

    Returns:
        `low.recall@10` and `high.recall@10` over questions, as if each were drawn by itself; and, where there are
        several conversations, `conversations.low.recall@10` and so on over those: what another set of people's would
        give. By group as `low.recall@10.multi_hop`.
    """
    found: dict[str, float] = {}
    for group, part in _by_group(rankings).items():
        owners = [ranking.conversation for ranking in part]
        scores = [_scores(ranking) for ranking in part]
        for metric in _BOUNDED:
            values = np.array([score[metric] for score in scores if metric in score])
            if not values.size:
                continue
            low, _, high = interval(values)
            found |= {f"low.{metric}{group}": low, f"high.{metric}{group}": high}
            if len(set(owners)) > 1:
                low, _, high = interval(values, owners)
                found |= {f"conversations.low.{metric}{group}": low, f"conversations.high.{metric}{group}": high}
    return found


def interval(
    values: np.ndarray[Any, np.dtype[np.float64]], together: Sequence[str] | None = None
) -> tuple[float, float, float]:
    """Return the ends of the 95 % bootstrap interval of a mean, with the mean between them.

    Args:
        values: What the mean is of.
        together: By value, the name of those it is drawn with; by default each is drawn by itself.

    >>> interval(np.array([0.5, 0.5]))
    (0.5, 0.5, 0.5)
    >>> interval(np.array([0.0, 1.0, 0.0, 1.0]), ["a", "a", "b", "b"])
    (0.5, 0.5, 0.5)
    """
    places = np.arange(values.size) if together is None else np.unique(together, return_inverse=True)[1]
    sums, sizes = np.bincount(places, weights=values), np.bincount(places)
    chance = np.random.default_rng(_SEED)
    means = []
    for _ in range(RESAMPLES // _DRAWN_AT_ONCE):
        drawn = chance.integers(sums.size, size=(_DRAWN_AT_ONCE, sums.size))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return round(float(low), 4), round(float(values.mean()), 4), round(float(high), 4)


def latency(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return the median and the 95th percentile of a search, without and with the embedding of the question."""
    bare = [ranking.milliseconds for ranking in rankings]
    whole = [ranking.milliseconds + ranking.embedding_milliseconds for ranking in rankings]
    return {
        "p50_ms": percentile(bare, 50),
        "p95_ms": percentile(bare, 95),
        "p50_with_embedding_ms": percentile(whole, 50),
        "p95_with_embedding_ms": percentile(whole, 95),
    }


def by_group(metrics: Mapping[str, float], metric: str) -> dict[str, float]:
    """Return a metric of each group by the group's name.

    >>> by_group({"mrr": 0.5, "mrr.temporal": 0.6}, "mrr")
    {'temporal': 0.6}
    """
    return {name.removeprefix(f"{metric}."): v for name, v in metrics.items() if name.startswith(f"{metric}.")}


def percentile(values: Iterable[float], percent: int) -> float:
    """Return the smallest value that so many per cent of the values do not exceed.

    >>> percentile([4, 1, 2, 3], 50), percentile([4, 1, 2, 3], 95)
    (2, 4)
    """
    ordered = sorted(values)
    return round(ordered[-(-percent * len(ordered) // 100) - 1], 2)


def _by_group(rankings: Sequence[Ranking]) -> dict[str, list[Ranking]]:
    """Return the questions by what their group adds to the name of a metric; all of them by nothing."""
    groups = sorted({group for ranking in rankings for group in ranking.groups})
    return {"": list(rankings)} | {f".{group}": [r for r in rankings if group in r.groups] for group in groups}


def _scores(ranking: Ranking) -> dict[str, float]:
    """Return what one question adds to the means."""
    found = {
        **{f"recall@{cut}": recall(ranking.found, ranking.evidence, cut) for cut in CUTS},
        f"all_evidence@{ALL_AT}": float(recall(ranking.found, ranking.evidence, ALL_AT) == 1),
        "mrr": reciprocal_rank(ranking.found, ranking.evidence),
    }
    if prompt := ranking.prompt:
        shown = len(prompt.turns & ranking.evidence) / len(ranking.evidence)
        found |= {"prompt_evidence": shown, _TOKENS: float(prompt.tokens)}
    return found


def _means(rankings: Sequence[Ranking]) -> dict[str, float]:
    scores = [_scores(ranking) for ranking in rankings]
    means = {name: round(fmean(score[name] for score in scores), 1 if name == _TOKENS else 4) for name in scores[0]}
    return {**means, "questions": len(rankings)}
