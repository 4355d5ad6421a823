"""The threshold of a recall on a store that only compares vectors, such as LangGraph's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, SearchItem

from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.indexed_words import index_terms
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.scale import MeasuredScale


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


class StockScale(dict[str, MeasuredScale]):
    """Calibration of a store's scores, by its embedder: measured behind the first question to it."""


def calibration_of(store: BaseStore) -> Calibration | None:
    """Return what is known by now; None where a store has no vectors, or other scores than cosines.

    Args:
        store: The store.
    """
    embeddings = getattr(store, "embeddings", None)
    distance = (getattr(store, "index_config", None) or {}).get("distance_type", "cosine")
    if not isinstance(embeddings, Embeddings) or distance != "cosine":
        return None
    local = isinstance(embeddings, LocalEmbeddings)
    name = LOCAL_MODEL if local else str(getattr(embeddings, "name", "") or type(embeddings).__name__)
    return kept_with(store, StockScale).setdefault(name, MeasuredScale(name, embeddings)).known()
