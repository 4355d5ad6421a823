"""Recall of the evidence, by category and over all questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

CUTS = (5, 10, 20)
ALL_AT = 10
LIMIT = max(CUTS)
"""Results that every system is asked for."""


@dataclass(frozen=True)
class Ranking:
    """Results of a question.

    Args:
        found: The turns, best first; a result that is no turn takes its place as well.
        evidence: The turns that answer the question.
        groups: What it counts towards, beside the whole: its category, its file.
        context_tokens: Of what was found, rendered for a prompt.
        milliseconds: What the search took, without the embedding of the question.
        embedding_milliseconds: What that took.
    """

    found: Sequence[str]
    evidence: frozenset[str]
    groups: tuple[str, ...]
    context_tokens: int
    milliseconds: float
    embedding_milliseconds: float


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
    groups = sorted({group for ranking in rankings for group in ranking.groups})
    scores = _means(rankings)
    for group in groups:
        part = [ranking for ranking in rankings if group in ranking.groups]
        scores |= {f"{metric}.{group}": value for metric, value in _means(part).items()}
    return scores | {"context_tokens": round(fmean(ranking.context_tokens for ranking in rankings), 1)}


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


def _means(rankings: Sequence[Ranking]) -> dict[str, float]:
    def mean(values: Iterable[float]) -> float:
        return round(fmean(values), 4)

    return {
        **{f"recall@{cut}": mean(recall(r.found, r.evidence, cut) for r in rankings) for cut in CUTS},
        f"all_evidence@{ALL_AT}": mean(recall(r.found, r.evidence, ALL_AT) == 1 for r in rankings),
        "mrr": mean(reciprocal_rank(r.found, r.evidence) for r in rankings),
        "questions": len(rankings),
    }
