"""Mem0's open-source memory (the extra `mem0`) on the shared embedding model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.embeddings import Embeddings


@asynccontextmanager
async def open_mem0(provider: str, store: dict[str, Any], embeddings: Embeddings) -> AsyncIterator[Any]:
    """Open an `AsyncMemory` over a vector store, without a model; raise ImportError if Mem0 is not installed."""
    with TemporaryDirectory() as folder:
        # read when the package is imported: otherwise it writes to the home folder and reports its use
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        from mem0 import AsyncMemory  # type: ignore[import-not-found,unused-ignore]

        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        memory = AsyncMemory.from_config(
            {
                "vector_store": {"provider": provider, "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        memory.embedding_model = _Embedder(embeddings)
        try:
            yield memory
        finally:
            memory.close()


class _Embedder:
    """The shared model in Mem0's interface; Mem0's own adapter embeds stored texts as queries."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        if memory_action == "search":
            return self._embeddings.embed_query(text)
        return self._embeddings.embed_documents([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return self._embeddings.embed_documents(texts)
