"""Questions while a long document is being embedded: what each waits for, and whether it is answered in full."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from benchmarks.databases import new_database, opened
from benchmarks.measures import percentile
from benchmarks.stand_ins import TimedEmbeddings, embed_with, fill, words
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope

DOCUMENT_CHARS = 20_000
QUESTIONS = 50
_MEMORIES = 100
_PAUSE = 0.1
"""Seconds between two questions, of one user after another."""

Metrics = dict[str, float]


async def measure(database_server: str) -> Metrics:
    """Return what a question waits for its vector, of an idle embedder and of one that a document keeps busy."""
    async with opened(await new_database(database_server, "waiting_questions")) as storage:
        watch = TimedEmbeddings(storage.embedding.embeddings)
        embed_with(storage.store, watch)
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
        **{f"question_idle_ms_p{part}": percentile(idle, part) for part in (50, 95)},
        **{f"question_wait_ms_p{part}": percentile(busy, part) for part in (50, 95)},
        "degraded_reads": degraded,
    }


async def _ask(memory: MemoryFacade, watch: TimedEmbeddings, name: str) -> tuple[Sequence[float], int]:
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
