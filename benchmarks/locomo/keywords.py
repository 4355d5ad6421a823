"""What index words are worth: those that a model gives a message at extraction, which it does not say itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.locomo.dataset import Conversation
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import quality
from benchmarks.locomo.react_mem import ReactMem
from benchmarks.locomo.run import ask

COVERED = "covered"
"""The group of questions all of whose evidence the model has read, whether or not it had words for it."""


def read_keywords(file: Path, conversation: Conversation) -> dict[str, str]:
    """Read index words: a JSON object, `{"D1:3": "sport, water"}`.

    Args:
        file: The file.
        conversation: Whose turns they belong to.

    Returns:
        The words by turn.

    Raises:
        ValueError: If the file is no such object, or names a turn that there is not.
    """
    try:
        words = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(words, dict) or not words or not all(isinstance(said, str) for said in words.values()):
        raise ValueError(f"{file} holds no index words: expected an object of turn ids and words")
    if unknown := sorted(set(words) - {turn.id for turn in conversation.turns}):
        raise ValueError(f"{file}: the first conversation of the data has no turn {unknown[0]!r}")
    return words


async def compare(
    memory: ReactMem,
    conversation: Conversation,
    words: Mapping[str, str],
    embeddings: SharedEmbeddings,
    progress: Callable[[], None],
) -> dict[str, dict[str, float]]:
    """Ask one conversation's questions without index words and with them; they stay.

    Args:
        memory: With the conversation written.
        conversation: What to ask.
        words: By turn.
        embeddings: The model.
        progress: Called for each question.

    Returns:
        Metrics, `without` and `with`.
    """
    turns = [turn.id for turn in conversation.turns]
    read = set(turns[: max(map(turns.index, words)) + 1])

    async def found() -> dict[str, float]:
        rankings = await ask(memory, [conversation], embeddings, progress)
        return quality(
            [
                replace(ranking, groups=(*ranking.groups, COVERED)) if ranking.evidence <= read else ranking
                for ranking in rankings
            ]
        )

    without = await found()
    await memory.add_keywords(conversation, words)
    return {"without": without, "with": await found()}
