"""One embedding model for every system: each text is embedded once, and everyone is charged for what it asks."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

BATCH = 16
"""Texts of one call, so that whoever asks for all at once is not charged with the memory that takes: 64 texts of 2,000
characters take the local model 300 MB."""

Known = dict[str, tuple[np.ndarray[Any, np.dtype[np.float32]], float]]
"""By text: its vector, packed because all of them stay in memory, and the seconds that it took."""


class SharedEmbeddings(Embeddings):
    """Embeds a text the first time that it is asked for, and says what every asker would have paid.

    Attributes:
        spent: Seconds that embedding took in this run, altogether.
        charged: Seconds that embedding would have taken if nothing had been known already.
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
