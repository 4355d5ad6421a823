"""Recall of the evidence, by category and over all questions, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.measures import interval, percentile

CUTS = (5, 10, 20)
ALL_AT = 10
LIMIT = max(CUTS)
"""Requested results."""

_TOKENS = "prompt_tokens"
_BOUNDED = (f"recall@{ALL_AT}", f"all_evidence@{ALL_AT}", "prompt_evidence", "answer_words")
"""Metrics that have an interval."""


@dataclass(frozen=True)
class Prompt:
    """Turns shown in a question's prompt, and the tokens and words of its retrieved text."""

    turns: frozenset[str]
    tokens: int
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Ranking:
    """Results of a question, best first, including results that are no turns.

    `groups` are its category and file. `milliseconds` exclude the embedding of the question. `answer` has the content
    words of the right answer, none if it is not given. `prompt` is None where only the search is measured.
    """

    found: Sequence[str]
    evidence: frozenset[str]
    groups: tuple[str, ...]
    conversation: str
    context_tokens: int
    milliseconds: float
    embedding_milliseconds: float
    answer: frozenset[str] = frozenset()
    prompt: Prompt | None = None

    @property
    def scores(self) -> dict[str, float]:
        first = (place for place, id_ in enumerate(self.found, start=1) if id_ in self.evidence)
        found = {
            **{f"recall@{cut}": recall(self.found, self.evidence, cut) for cut in CUTS},
            f"all_evidence@{ALL_AT}": float(recall(self.found, self.evidence, ALL_AT) == 1),
            "mrr": 1 / place if (place := next(first, 0)) else 0.0,
        }
        if self.prompt:
            shown = len(self.prompt.turns & self.evidence) / len(self.evidence)
            found |= {"prompt_evidence": shown, _TOKENS: float(self.prompt.tokens)}
            if self.answer:
                found["answer_words"] = len(self.answer & self.prompt.words) / len(self.answer)
        return found


def recall(found: Sequence[str], evidence: Collection[str], cut: int) -> float:
    """Return the share of the evidence among the first results.

    >>> recall(["D1:1", "D1:2", "D1:3"], {"D1:1", "D1:3"}, 2)
    0.5
    """
    return len(set(found[:cut]) & set(evidence)) / len(evidence)


def quality(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return means over all questions, and by group as `recall@10.multi_hop`."""
    means: dict[str, float] = {}
    for group, part in _by_group(rankings).items():
        scores = [ranking.scores for ranking in part]
        for name in dict.fromkeys(name for score in scores for name in score):
            values = [score[name] for score in scores if name in score]
            means[f"{name}{group}"] = round(fmean(values), 1 if name == _TOKENS else 4)
        means[f"questions{group}"] = len(part)
    return means | {"context_tokens": round(fmean(ranking.context_tokens for ranking in rankings), 1)}


def intervals(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return the bounds of the means' intervals.

    `low.recall@10` and `high.recall@10` are over questions, drawn independently; `conversations.low.recall@10` and so
    on over conversations, of several. By group as `low.recall@10.multi_hop`.
    """
    found: dict[str, float] = {}
    for group, part in _by_group(rankings).items():
        for metric in _BOUNDED:
            counted = [(ranking.conversation, ranking.scores) for ranking in part if metric in ranking.scores]
            values = np.array([scores[metric] for _, scores in counted])
            owners = [owner for owner, _ in counted]
            for name, together in (("", None), ("conversations.", owners)):
                if values.size and (together is None or len(set(owners)) > 1):
                    low, _, high = interval(values, together)
                    found |= {f"{name}low.{metric}{group}": low, f"{name}high.{metric}{group}": high}
    return found


def latency(rankings: Sequence[Ranking]) -> dict[str, float]:
    bare = [ranking.milliseconds for ranking in rankings]
    whole = [ranking.milliseconds + ranking.embedding_milliseconds for ranking in rankings]
    return {
        f"p{percent}{name}_ms": percentile(values, percent)
        for name, values in (("", bare), ("_with_embedding", whole))
        for percent in (50, 95)
    }


def by_group(metrics: Mapping[str, float], metric: str) -> dict[str, float]:
    """Return a metric by group.

    >>> by_group({"mrr": 0.5, "mrr.temporal": 0.6}, "mrr")
    {'temporal': 0.6}
    """
    return {name.removeprefix(f"{metric}."): v for name, v in metrics.items() if name.startswith(f"{metric}.")}


def _by_group(rankings: Sequence[Ranking]) -> dict[str, list[Ranking]]:
    """Return the questions by the suffix of their group; all of them under the empty suffix."""
    groups = sorted({group for ranking in rankings for group in ranking.groups})
    return {"": list(rankings)} | {f".{group}": [r for r in rankings if group in r.groups] for group in groups}
