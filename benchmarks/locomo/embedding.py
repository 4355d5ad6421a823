"""One embedding model for all systems: each text is embedded once, and each system is charged for its requests."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

BATCH = 16
"""Texts of one call, so that no system is charged with the memory of a large batch: 64 texts of 2,000 characters take
the local model 300 MB.
"""

Known = dict[str, tuple[np.ndarray[Any, np.dtype[np.float32]], float]]
"""By text the packed vector, and the seconds of its computation."""


class SharedEmbeddings(Embeddings):
    """Caching embedder that records the cost of uncached embedding.

    Attributes:
        spent: Seconds of embedding in this run.
        charged: Seconds that embedding would have taken without the cache.
    """

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self._texts: Known = {}
        self._queries: Known = {}
        self.spent = 0.0
        self.charged = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        for start in range(0, len(new), BATCH):
            part = new[start : start + BATCH]
            started = time.perf_counter()
            vectors = self._model.embed_documents(part)
            seconds = time.perf_counter() - started
            chars = sum(map(len, part)) or 1
            for text, vector in zip(part, vectors, strict=True):
                # what a text costs grows with its length
                self._texts[text] = np.asarray(vector, np.float32), seconds * len(text) / chars
            self.spent += time.perf_counter() - started
        self.charged += sum(self._texts[text][1] for text in dict.fromkeys(texts))
        return [self._texts[text][0].tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text not in self._queries:
            started = time.perf_counter()
            vector = np.asarray(self._model.embed_query(text), np.float32)
            self._queries[text] = vector, time.perf_counter() - started
            self.spent += time.perf_counter() - started
        vector, seconds = self._queries[text]
        self.charged += seconds
        floats: list[float] = vector.tolist()
        return floats

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if all(text in self._texts for text in texts):
            return self.embed_documents(texts)
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        if text in self._queries:
            return self.embed_query(text)
        return await asyncio.to_thread(self.embed_query, text)
