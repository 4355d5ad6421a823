"""Questions while a long document is being embedded: what each waits for, and whether it is answered in full."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from benchmarks.filling import fill
from benchmarks.locomo.databases import new_database
from benchmarks.locomo.metrics import percentile
from benchmarks.stand_ins import words
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings

DOCUMENT_CHARS = 20_000
QUESTIONS = 50
_MEMORIES = 100
_PAUSE = 0.1
"""Seconds between two questions, of one user after another."""

Metrics = dict[str, float]


class _Stopwatch(Embeddings):
    """An embedder, and how long each question waited for its vector."""

    def __init__(self, inner: Embeddings) -> None:
        self.inner = inner
        self.waits_ms: list[float] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.inner.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await self.inner.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        start = time.perf_counter()
        try:
            return await self.inner.aembed_query(text)
        finally:
            # a read that gives up waiting has waited too
            self.waits_ms.append((time.perf_counter() - start) * 1000)


async def measure(database_server: str) -> Metrics:
    """Ask the same number of questions of an idle embedder and of one that a document keeps busy.

    Args:
        database_server: The database server.

    Returns:
        The milliseconds for a question's vector, idle and busy, and how many reads were degraded.
    """
    settings = StorageSettings.model_validate(
        {"database_url": await new_database(database_server, "waiting_questions"), "embedding": "local"}
    )
    async with open_storage(settings) as storage:
        watch = _Stopwatch(storage.embedding.embeddings)
        storage.store.embedding = replace(storage.embedding, embeddings=watch)
        memory = MemoryFacade(storage.store)
        await fill(memory, "ann", _MEMORIES)
        idle, _ = await _ask(memory, watch, "idle")
        text = words("document", DOCUMENT_CHARS // 5)[:DOCUMENT_CHARS]
        # many paragraphs, as documents have: each is a text of its own to the embedder
        pages = [Document(page_content=text[start : start + 1_000]) for start in range(0, DOCUMENT_CHARS, 1_000)]
        ingesting = asyncio.create_task(memory.semantic.add_documents(pages, user_id="bob"))
        busy, degraded = await _ask(memory, watch, "busy")
        await ingesting
    return {
        "question_idle_ms_p50": percentile(idle, 50),
        "question_idle_ms_p95": percentile(idle, 95),
        "question_wait_ms_p50": percentile(busy, 50),
        "question_wait_ms_p95": percentile(busy, 95),
        "degraded_reads": degraded,
    }


async def _ask(memory: MemoryFacade, watch: _Stopwatch, name: str) -> tuple[Sequence[float], int]:
    watch.waits_ms.clear()
    reads: list[asyncio.Task[Any]] = []
    for number in range(QUESTIONS):
        query = MemoryQuery(
            user_id="ann",
            session_id="1",
            agent_id="benchmark",
            scopes=[MemoryScope.SEMANTIC, MemoryScope.DIALOG],
            query=words(f"{name} {number}", 12),
        )
        reads.append(asyncio.create_task(memory.read(query)))
        await asyncio.sleep(_PAUSE)
    results = await asyncio.gather(*reads)
    return list(watch.waits_ms), sum(bool(found.missing) for found in results)
