"""The threshold of a recall on a store that only compares vectors, such as LangGraph's own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import finalize

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, SearchItem

from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.indexed_words import index_terms
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.calibration import KNOWN, Calibration, calibrate
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings

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
class _Known:
    calibration: Calibration | None = None
    measuring: asyncio.Task[None] | None = None
    not_before: float = 0.0


class StockScales:
    """What the scores of stores mean: known of the embedder, or measured once, behind the first question to it."""

    def __init__(self) -> None:
        # by identity: the models of LangChain's integrations have fields, and so no hash
        self._known: dict[int, _Known] = {}

    def calibration(self, store: BaseStore) -> Calibration | None:
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
        known = self._known_of(embeddings)
        idle = known.measuring is None or known.measuring.done()
        if known.calibration is None and idle and time.monotonic() >= known.not_before:
            known.measuring = asyncio.get_running_loop().create_task(_measure(embeddings, known))
        return known.calibration

    def _known_of(self, embeddings: Embeddings) -> _Known:
        place = id(embeddings)
        if place not in self._known:
            self._known[place] = _Known()
            finalize(embeddings, self._known.pop, place, None).atexit = False
        return self._known[place]


async def _measure(embeddings: Embeddings, known: _Known) -> None:
    try:
        known.calibration = await calibrate(embeddings)
    except Exception as error:  # whatever the provider's client raises; a later question tries again
        known.not_before = time.monotonic() + _RETRY_SECONDS
        log.warning("the scale of %s is not known yet: %s", type(embeddings).__name__, cause_of(error))
        return
    if not known.calibration.separates:
        log.warning(
            "%s hardly tells an answer from an unrelated text: no threshold is applied", type(embeddings).__name__
        )
