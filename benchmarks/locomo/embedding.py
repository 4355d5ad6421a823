"""One embedding model for every system: each text is embedded once, and everyone is charged for what it asks."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
from langchain_core.embeddings import Embeddings

BATCH = 16
"""Texts of one call, so that whoever asks for all at once is not charged with the memory that takes: 64 texts of 2,000
characters take the local model 300 MB."""

Kind = Literal["text", "query"]
Vector = np.ndarray[Any, np.dtype[np.float32]]
Known = dict[str, tuple[Vector, float]]
"""By text: its vector, packed because all of them stay in memory, and the seconds that it took."""


class VectorFile:
    """Vectors of earlier runs with the seconds that they took, for whoever runs the benchmark again and again.

    Args:
        path: The file; made if it is not there.
        model: Whose vectors. Those of other models stay in the file.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path = path
        self._model = model
        with closing(self._open()) as db, db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS vectors"
                " (model TEXT, kind TEXT, text TEXT, vector BLOB, seconds REAL, PRIMARY KEY (model, kind, text))"
            )

    def load(self, kind: Kind) -> Known:
        """Return what is known of the model."""
        with closing(self._open()) as db:
            rows = db.execute(
                "SELECT text, vector, seconds FROM vectors WHERE model = ? AND kind = ?", (self._model, kind)
            )
            return {text: (np.frombuffer(vector, np.float32), seconds) for text, vector, seconds in rows}

    def save(self, kind: Kind, new: Known) -> None:
        """Add vectors."""
        rows = [(self._model, kind, text, vector.tobytes(), seconds) for text, (vector, seconds) in new.items()]
        with closing(self._open()) as db, db:
            db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path)


class SharedEmbeddings(Embeddings):
    """Embeds a text the first time that it is asked for, and says what every asker would have paid.

    Args:
        model: The model.
        kept: The vectors of earlier runs.

    Attributes:
        spent: Seconds that embedding took in this run, altogether.
        charged: Seconds that embedding would have taken if nothing had been known already.
    """

    def __init__(self, model: Embeddings, kept: VectorFile | None = None) -> None:
        self._model = model
        self._kept = kept
        self._texts = kept.load("text") if kept else {}
        self._queries = kept.load("query") if kept else {}
        self.spent = 0.0
        self.charged = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that will be searched."""
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        for start in range(0, len(new), BATCH):
            self._learn(new[start : start + BATCH])
        self.charged += sum(self._texts[text][1] for text in dict.fromkeys(texts))
        return [self._texts[text][0].tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed what is searched for."""
        if text not in self._queries:
            started = time.perf_counter()
            vector = np.asarray(self._model.embed_query(text), np.float32)
            seconds = time.perf_counter() - started
            self._queries[text] = (vector, seconds)
            if self._kept:
                self._kept.save("query", {text: (vector, seconds)})
            self.spent += time.perf_counter() - started
        vector, seconds = self._queries[text]
        self.charged += seconds
        floats: list[float] = vector.tolist()
        return floats

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that will be searched, off the event loop; what is known is returned at once."""
        if all(text in self._texts for text in texts):
            return self.embed_documents(texts)
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Embed what is searched for, off the event loop; what is known is returned at once."""
        if text in self._queries:
            return self.embed_query(text)
        return await asyncio.to_thread(self.embed_query, text)

    async def prepare(self, queries: Sequence[str], progress: Callable[[], None]) -> None:
        """Embed the queries that everybody will ask, so that the first to ask is not the one whose caches are cold.

        Args:
            queries: What will be searched for.
            progress: Called for each.
        """
        await asyncio.to_thread(self._model.embed_query, "warm")  # the model is loaded with its first text
        for query in queries:
            await self.aembed_query(query)
            progress()

    def _learn(self, texts: Sequence[str]) -> None:
        started = time.perf_counter()
        vectors = self._model.embed_documents(list(texts))
        seconds = time.perf_counter() - started
        # what a text costs grows with its length
        chars = sum(map(len, texts)) or 1
        new = {
            text: (np.asarray(vector, np.float32), seconds * len(text) / chars)
            for text, vector in zip(texts, vectors, strict=True)
        }
        self._texts |= new
        if self._kept:
            self._kept.save("text", new)
        self.spent += time.perf_counter() - started
