"""Fitting of the arms' weights, judged on data that they were not fitted to.

Each result says what every arm contributed to its score, so that one wide search a question is enough to rank its
results under any other weights. What is fitted is a multiplier for each arm's shipped weight; that of the words stays,
as only proportions count. Of what no arm proposed nothing can be said. A data set counts as much as another, whatever
its size: the best weights for one fail on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.locomo.dataset import Conversation
from benchmarks.locomo.metrics import ALL_AT
from benchmarks.locomo.ours import ReactMem
from react_mem.memory.model.arms import ALL_ARMS, Arm

WIDE = 100
"""Results of a question that are ranked anew: as many as a policy may ask for. Who asks for many is proposed more, so
that a few questions find something else under the shipped weights than in the run itself."""

ALL_EVIDENCE = 0.5
SEVERAL_RECALL = 0.15
"""Objective: recall@10, and so much of all-evidence@10 and of the recall@10 of questions with several turns."""

ARMS = tuple(arm for arm in Arm if arm in ALL_ARMS)
FITTED = tuple(arm for arm in ARMS if arm is not Arm.LEXICAL)

STEPS = (0.0, *(2 ** (step / 4) for step in range(-12, 13)))
"""Multipliers that are tried: none, and from an eighth to eight times. Finer ones move single questions."""

STARTS = 16
"""Places where the ascent begins, of which the best end counts: it ends on one of several hills. They are drawn from
`STEPS`, and never the shipped weights, which know of the conversation that is held out."""

_SEVERAL = f"recall@{ALL_AT}.several_turns"

Multipliers = tuple[float, ...]
Array = np.ndarray[Any, Any]
Rows = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Candidates:
    """Results of one question.

    Args:
        conversation: The owner of the memory.
        data_set: Where the conversation is from.
        evidence: How many turns hold it, found or not.
        parts: What each arm contributed, a row a result, in the order of `ARMS`.
        right: Which results hold it.
        behind: Which results repeat a better one, and so come after all others.
    """

    conversation: str
    data_set: str
    evidence: int
    parts: Sequence[Sequence[float]]
    right: Sequence[bool]
    behind: Sequence[bool]


async def collect(
    memory: ReactMem, conversations: Sequence[Conversation], progress: Callable[[], None]
) -> list[Candidates]:
    """Ask every question of a memory with everything written for as many results as there may be."""
    wide = memory.returning(WIDE)
    found = []
    for conversation in conversations:
        for question in conversation.questions:
            hits = await wide.search(conversation, question.text)
            scores = [hit.item.score or 0.0 for hit in hits]
            # what repeats something better begins where the score rises
            risen = next((n for n in range(1, len(scores)) if scores[n] > scores[n - 1]), len(scores))
            found.append(
                Candidates(
                    conversation=conversation.owner,
                    data_set=conversation.data_set,
                    evidence=len(question.evidence),
                    parts=[[hit.item.arms.get(arm, 0.0) for arm in ARMS] for hit in hits],
                    right=[hit.turn_id in question.evidence for hit in hits],
                    behind=[place >= risen for place in range(len(hits))],
                )
            )
            progress()
    return found


def study(candidates: Sequence[Candidates]) -> Rows:
    """Fit the multipliers to everything, and to everything but each of at least two conversations in turn.

    Returns:
        Metrics with the shipped weights, with the `fitted` ones where they were fitted, and `held_out`: each question
        by weights that were fitted without its conversation. Where there are several data sets, their mean, and
        `held_out.<data set>`. And the `multipliers`.
    """
    pool = Pool(candidates)
    multipliers = pool.fit(np.full(len(candidates), True))
    held_out = np.zeros(len(candidates))
    for conversation in np.unique(pool.conversations):
        own = pool.conversations == conversation
        held_out[own] = pool.recall(pool.fit(~own))[own]
    recalls = {"shipped": pool.recall((1.0,) * len(FITTED)), "fitted": pool.recall(multipliers), "held_out": held_out}
    rows = {name: row for what, recall in recalls.items() for name, row in pool.rows(what, recall).items()}
    return {**rows, "multipliers": {arm: round(m, 2) for arm, m in zip(FITTED, multipliers, strict=True)}}


class Pool:
    """Results of all questions, ranked under any weights at once."""

    def __init__(self, candidates: Sequence[Candidates]) -> None:
        shape = (len(candidates), max(ALL_AT, *(len(found.parts) for found in candidates)))
        self.conversations = np.array([found.conversation for found in candidates])
        self._data_sets = np.array([found.data_set for found in candidates])
        self._evidence = np.array([found.evidence for found in candidates])
        self._parts = np.zeros((*shape, len(ARMS)))
        self._right = np.zeros(shape, bool)
        self._offsets = np.full(shape, -1e9)  # below everything that was found, and that below what is better
        for number, found in enumerate(candidates):
            if here := len(found.parts):
                self._parts[number, :here] = found.parts
                self._right[number, :here] = found.right
                self._offsets[number, :here] = np.where(found.behind, -1e6, 0.0)
        self._known: dict[Multipliers, Array] = {}

    def recall(self, multipliers: Multipliers) -> Array:
        """Return every question's recall@10 under some multipliers, which are in the order of `FITTED`."""
        if multipliers not in self._known:
            by_arm = {Arm.LEXICAL: 1.0, **dict(zip(FITTED, multipliers, strict=True))}
            scores = self._parts @ np.array([by_arm[arm] for arm in ARMS]) + self._offsets
            # a stable order: equal scores stay as the search had them
            best = np.argsort(-scores, axis=1, kind="stable")[:, :ALL_AT]
            self._known[multipliers] = np.take_along_axis(self._right, best, axis=1).sum(axis=1) / self._evidence
        return self._known[multipliers]

    def fit(self, among: Array) -> Multipliers:
        """Return the best multipliers for some of the questions, by coordinate ascent."""
        drawn = np.random.default_rng(0).choice(STEPS, size=(STARTS, len(FITTED)))
        ends = [self._ascend(tuple(start), among) for start in drawn.tolist()]
        return max(ends, key=lambda end: self._value(end, among))

    def _ascend(self, best: Multipliers, among: Array) -> Multipliers:
        value, before = self._value(best, among), -1.0
        while value > before:
            before = value
            for place in range(len(FITTED)):
                for step in STEPS:
                    tried = (*best[:place], step, *best[place + 1 :])
                    if (reached := self._value(tried, among)) > value + 1e-9:
                        best, value = tried, reached
        return best

    def rows(self, name: str, recall: Array) -> Rows:
        """Return the metrics of every question's recall@10 by data set, and their mean."""
        sets = dict.fromkeys(self._data_sets)
        rows = {f"{name}.{one}": self._metrics(recall, self._data_sets == one) for one in sets}
        names = dict.fromkeys(metric for row in rows.values() for metric in row)
        mean = {m: fmean(row[m] for row in rows.values() if m in row) for m in names}
        every = {name: mean, **(rows if len(rows) > 1 else {})}
        return {row: {metric: round(value, 4) for metric, value in metrics.items()} for row, metrics in every.items()}

    def _value(self, multipliers: Multipliers, among: Array) -> float:
        recall = self.recall(multipliers)
        parts = []
        for data_set in dict.fromkeys(self._data_sets[among]):
            found = self._metrics(recall, among & (self._data_sets == data_set))
            whole, several = found[f"all_evidence@{ALL_AT}"], found.get(_SEVERAL, 0.0)
            parts.append(found[f"recall@{ALL_AT}"] + ALL_EVIDENCE * whole + SEVERAL_RECALL * several)
        return fmean(parts)

    def _metrics(self, recall: Array, among: Array) -> dict[str, float]:
        whole = float((recall[among] == 1).mean())
        found = {f"recall@{ALL_AT}": float(recall[among].mean()), f"all_evidence@{ALL_AT}": whole}
        if (several := among & (self._evidence > 1)).any():
            found[_SEVERAL] = float(recall[several].mean())
        return found
