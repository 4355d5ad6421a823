"""Mem0, where it is installed: by the extra `mem0`.

It keeps every turn as it is (`infer=False`: no model call) in its pgvector store, which searches by vector and by
words. Without spaCy (`mem0ai[nlp]`) it neither lemmatises words nor links entities. Its telemetry is off.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.locomo.databases import disk_bytes, new_database
from benchmarks.locomo.dataset import Conversation
from benchmarks.locomo.metrics import LIMIT
from benchmarks.locomo.peers import Peer
from benchmarks.locomo.system import Hit, Setup, spoken


class Mem0(Peer):
    """Mem0's open-source memory.

    Args:
        memory: An `AsyncMemory`.
        database_url: Where its tables are.
    """

    def __init__(self, memory: Any, database_url: str) -> None:
        super().__init__()
        self._memory = memory
        self._database_url = database_url
        self._turn_ids: dict[str, str] = {}

    async def write(self, conversation: Conversation) -> None:
        """Add a session in one call."""
        self.note(conversation)
        for session in conversation.sessions:
            messages = [{"role": turn.role, "content": spoken(turn)} for turn in session.turns]
            added = await self._memory.add(messages, user_id=conversation.owner, infer=False)
            ids = [result["id"] for result in added["results"]]
            self._turn_ids |= dict(zip(ids, (turn.id for turn in session.turns), strict=True))

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Search the owner's memories."""
        found = await self._memory.search(question, top_k=LIMIT, filters={"user_id": conversation.owner})
        return self.hits(conversation, (self._turn_ids[result["id"]] for result in found["results"]))

    async def disk_bytes(self) -> int | None:
        """Return the size of its tables and indexes."""
        return await disk_bytes(self._database_url)


@asynccontextmanager
async def open_mem0(setup: Setup) -> AsyncIterator[Mem0]:
    """Open it on a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        # read when the package is imported: otherwise it writes to the home folder and reports its use
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        from mem0 import AsyncMemory

        url = await new_database(setup.server_url, "mem0")
        store = {"connection_string": url, "collection_name": "mem0", "embedding_model_dims": setup.dims}
        unused = {"api_key": "unused"}
        memory = AsyncMemory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": store},
                "llm": {"provider": "openai", "config": unused},
                "embedder": {"provider": "openai", "config": unused},
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        memory.embedding_model = _Embedder(setup)
        try:
            yield Mem0(memory, url)
        finally:
            memory.vector_store.connection_pool.close()
            memory.close()


class _Embedder:
    """The shared model, by the interface that Mem0 asks: its own adapter embeds stored texts as queries."""

    def __init__(self, setup: Setup) -> None:
        self._embeddings = setup.embeddings

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        if memory_action == "search":
            return self._embeddings.embed_query(text)
        return self._embeddings.embed_documents([text])[0]
