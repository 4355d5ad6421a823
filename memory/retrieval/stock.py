"""The threshold of a recall on a store that only compares vectors, such as LangGraph's own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, SearchItem

from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.indexed_words import index_terms
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.calibration import KNOWN, Calibration, calibrate
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings
from react_mem.memory.store.process_state import kept_with

_RETRY_SECONDS = 60.0

log = logging.getLogger(__name__)


def similarity_of(item: SearchItem, calibration: Calibration | None) -> float | None:
    """Return how similar an item is to the question, on the scale of all embedders; None where that is not known."""
    return None if calibration is None or item.score is None else calibration.similarity(item.score)


def near_enough(
    items: Sequence[SearchItem], asked: Iterable[str], least: float, calibration: Calibration | None
) -> list[SearchItem]:
    """Return the items that are similar enough to a question, or share a word with it.

    Args:
        items: What the store found.
        asked: The words of the question.
        least: The similarity from which on an item needs no word.
        calibration: What the store's scores mean; where that is not known, or says nothing, all are near enough.
    """
    if calibration is None or not calibration.separates:
        return list(items)
    wanted = set(asked)

    def passes(item: SearchItem) -> bool:
        similarity = similarity_of(item, calibration)
        return similarity is None or similarity >= least or not wanted.isdisjoint(index_terms(whole_text(item.value)))

    return [item for item in items if passes(item)]


@dataclass
class StockScale:
    """Calibration of a store's scores: known of its embedder, or measured once, behind the first question to it."""

    calibration: Calibration | None = None
    measuring: asyncio.Task[None] | None = None
    not_before: float = 0.0


def calibration_of(store: BaseStore) -> Calibration | None:
    """Return what is known by now; None where a store has no vectors, or other scores than cosines.

    Args:
        store: The store.
    """
    embeddings = getattr(store, "embeddings", None)
    distance = (getattr(store, "index_config", None) or {}).get("distance_type", "cosine")
    if not isinstance(embeddings, Embeddings) or distance != "cosine":
        return None
    name = LOCAL_MODEL if isinstance(embeddings, LocalEmbeddings) else getattr(embeddings, "name", "")
    if name in KNOWN:
        return KNOWN[name]
    scale = kept_with(store, StockScale)
    idle = scale.measuring is None or scale.measuring.done()
    if scale.calibration is None and idle and time.monotonic() >= scale.not_before:
        scale.measuring = asyncio.get_running_loop().create_task(_measure(embeddings, scale))
    return scale.calibration


async def _measure(embeddings: Embeddings, scale: StockScale) -> None:
    try:
        scale.calibration = await calibrate(embeddings)
    except Exception as error:  # whatever the provider's client raises; a later question tries again
        scale.not_before = time.monotonic() + _RETRY_SECONDS
        log.warning("the scale of %s is not known yet: %s", type(embeddings).__name__, cause_of(error))
        return
    if not scale.calibration.separates:
        log.warning(
            "%s hardly tells an answer from an unrelated text: no threshold is applied", type(embeddings).__name__
        )
