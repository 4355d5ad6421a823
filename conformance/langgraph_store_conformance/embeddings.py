"""Embedder of the suite: deterministic, instant and without a model."""

from __future__ import annotations

import hashlib
import math

from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig

DIMS = 64


class WordEmbeddings(Embeddings):
    """Embeds texts by their words: two texts are near when they share some."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector of length one for each text."""
        return [_vector_of(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, which is that of the same text."""
        return _vector_of(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the same as `embed_documents`, without a thread."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the same as `embed_query`, without a thread."""
        return self.embed_query(text)


def word_index() -> IndexConfig:
    """Return the index that a store is to be opened with to be checked for `Capability.VECTORS`."""
    return IndexConfig(dims=DIMS, embed=WordEmbeddings(), fields=["text"])


def _vector_of(text: str) -> list[float]:
    vector = [0.0] * DIMS
    vector[0] = 0.1  # a text without words has a direction too
    for word in text.lower().split():
        digest = hashlib.sha256(word.encode(errors="replace")).digest()
        for place in range(0, 8, 2):
            vector[digest[place] % DIMS] += 1.0 if digest[place + 1] % 2 else -1.0
    norm = math.hypot(*vector) or 1.0
    return [part / norm for part in vector]
