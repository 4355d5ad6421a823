"""The vectors of what is asked: of searches' queries, and of recalls' questions, which do without if need be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from langgraph.store.base import SearchOp
from numpy.typing import NDArray

from react_mem.memory.index.recall import RecallOp
from react_mem.memory.language.text import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm
from react_mem.memory.store.binary import Binary
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.vectors import checked_vector, finite_vector

_QUESTION_SECONDS = 3.0
"""Seconds that a read waits for the vectors of its questions, of the five of a turn: words still find."""

_patience: ContextVar[float] = ContextVar("question_seconds", default=_QUESTION_SECONDS)

log = logging.getLogger(__name__)


@contextmanager
def waiting_for_questions(seconds: float) -> Iterator[None]:
    """Let the reads in it wait longer for the vectors of their questions, where no turn waits for them.

    Args:
        seconds: How long at most.
    """
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


async def query_vectors(embedding: EmbeddingModel, searches: Sequence[SearchOp]) -> dict[str, Binary]:
    """Return a vector for every distinct query of the batch."""
    queries = list(dict.fromkeys(op.query for op in searches if op.query))
    vectors = await asyncio.gather(
        *(embedding.embeddings.aembed_query(storable(query)[:MAX_INDEXED_CHARS]) for query in queries)
    )
    # one of zeros is near to nothing, and all that there is is found, in no order
    return {query: Binary(finite_vector(embedding, vector)) for query, vector in zip(queries, vectors, strict=True)}


async def question_vectors(
    embedding: EmbeddingModel, ops: Sequence[RecallOp]
) -> tuple[list[NDArray[np.float32] | None], str]:
    """Return the vectors of the recalls' questions, and why there are none."""
    texts = list(dict.fromkeys(op.question.text for op in ops if Arm.VECTOR in op.arms))
    seconds = _patience.get()
    try:
        async with asyncio.timeout(seconds):
            made = await asyncio.gather(*(embedding.embeddings.aembed_query(storable(text)) for text in texts))
        vectors = {text: _numbers(embedding, each) for text, each in zip(texts, made, strict=True)}
    except Exception as error:  # whatever the provider's client raises, or makes of a question
        what = f"no answer in {seconds:.0f} seconds" if isinstance(error, TimeoutError) else cause_of(error)
        cause = f"the question cannot be embedded ({what})"
        log.warning("memory is searched without vectors: %s", cause)
        return [None] * len(ops), cause
    return [vectors.get(op.question.text) if Arm.VECTOR in op.arms else None for op in ops], ""


def _numbers(embedding: EmbeddingModel, made: Sequence[float]) -> NDArray[np.float32]:
    checked_vector(embedding, made)
    return np.asarray(made, dtype=np.float32)
