"""Ablation of the graph arm: the same questions with and without it, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.locomo.dataset import Conversation
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import Ranking, interval, latency, quality, recall
from benchmarks.locomo.react_mem import ReactMem
from benchmarks.locomo.run import ask
from react_mem.memory.model.arms import Arm

_CUT = 10
_EVERYTHING = "all"


async def compare(
    memory: ReactMem, conversations: Sequence[Conversation], embeddings: SharedEmbeddings, progress: Callable[[], None]
) -> dict[str, dict[str, float]]:
    """Ask everything without the arm, link all turns, and ask again with it.

    Args:
        memory: With everything written.
        conversations: What to ask.
        embeddings: The model.
        progress: Called for each question asked, and for each conversation linked.

    Returns:
        Metrics `without` and `with` the arm, and their `difference` in recall@10, by category, with the ends of its
        95 % interval over questions.
    """
    arms = memory.policy.recall.arms
    asked: dict[str, list[Ranking]] = {}
    for name, chosen in (("without", arms - {Arm.GRAPH}), ("with", arms | {Arm.GRAPH})):
        if name == "with":
            for conversation in conversations:
                await memory.link(conversation)
                progress()
        policy = memory.policy.model_copy(update={"recall": {"arms": sorted(chosen)}})
        asked[name] = await ask(memory.under(policy), conversations, embeddings, progress)
    rows = {name: {**quality(rankings), **latency(rankings)} for name, rankings in asked.items()}
    return rows | {"difference": differences(asked["without"], asked["with"])}


def differences(before: Sequence[Ranking], after: Sequence[Ranking]) -> dict[str, float]:
    """Return by how much recall@10 differs, over all questions and by group, each with its 95 % interval.

    Args:
        before: One a question.
        after: The same questions, in the same order.
    """
    gains = np.array(
        [
            recall(new.found, new.evidence, _CUT) - recall(old.found, old.evidence, _CUT)
            for old, new in zip(before, after, strict=True)
        ]
    )
    found: dict[str, float] = {}
    for group in [_EVERYTHING, *sorted({group for ranking in before for group in ranking.groups})]:
        chosen = [group == _EVERYTHING or group in ranking.groups for ranking in before]
        low, mean, high = interval(gains[chosen])
        found |= {f"low.{group}": low, f"mean.{group}": mean, f"high.{group}": high}
    return found
