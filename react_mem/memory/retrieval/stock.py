"""Scores of a store that only compares vectors, such as LangGraph's own, and what they mean."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore

from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.scale import MeasuredScale


def similarity_of(cosine: float | None, calibration: Calibration | None) -> float | None:
    """Return how similar an item is to the question, on the scale of all embedders; None where that is not known."""
    return None if calibration is None or cosine is None else calibration.similarity(cosine)


def cosine_of(store: BaseStore, score: float) -> float:
    """Return the cosine that a store's score stands for; of vectors that are not of length 1, something that falls with
    the distance too.

    Args:
        store: The store.
        score: How near an item is, as a search says it.
    """
    near = 1 - score**2 / 2 if _distance(store) == "l2" else score
    return min(max(near, -1.0), 1.0)


class StockScale(dict[str, MeasuredScale]):
    """Calibration of a store's scores, by its embedder: measured behind the first question to it."""


def calibration_of(store: BaseStore) -> Calibration | None:
    """Return what is known by now; None where a store has no vectors, or other scores than cosines.

    Args:
        store: The store.
    """
    embeddings = getattr(store, "embeddings", None)
    if not isinstance(embeddings, Embeddings) or _distance(store) != "cosine":
        return None
    local = isinstance(embeddings, LocalEmbeddings)
    name = LOCAL_MODEL if local else str(getattr(embeddings, "name", "") or type(embeddings).__name__)
    return kept_with(store, StockScale).setdefault(name, MeasuredScale(name, embeddings)).known()


def _distance(store: BaseStore) -> str:
    return str((getattr(store, "index_config", None) or {}).get("distance_type", "cosine"))
