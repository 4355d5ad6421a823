"""Mem0, where it is installed: by the extra `mem0`.

Its model is the script's, by the interface that Mem0 asks; its vectors are in a Qdrant in memory. Its open-source
extraction only adds (`ADDITIVE_EXTRACTION_PROMPT`), and is not shown what tools return. Its telemetry is off.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel

from benchmarks.writing.case import Case, Manner, Turn
from benchmarks.writing.drivers import ALL, Contents, ModelFactory, Remembered, noting
from benchmarks.writing.meter import Meter
from react_mem.memory.store.embeddings import EmbeddingModel


class Mem0Memory:
    """Mem0's open-source memory, called with the user's message and the answer after each turn.

    Args:
        memory: An `AsyncMemory`.
        model: Gives the model of a case.
    """

    def __init__(self, memory: Any, model: ModelFactory) -> None:
        self._memory = memory
        self._model = model

    async def run(self, case: Case, manner: Manner, meter: Meter) -> Contents:
        """Go through the turns of a case. See `Driver.run`."""
        self._memory.llm = _Model(self._model(case, manner, meter), asyncio.get_running_loop())
        owner = f"{manner}/{case.id}"
        errors: list[str] = []
        for turn in case.turns:
            with noting(errors), meter.counting():
                await self._memory.add(_exchange(turn), user_id=owner)
        found = await self._memory.get_all(filters={"user_id": owner}, top_k=ALL)
        return Contents(facts=[Remembered(one["memory"]) for one in found["results"]], messages=[], errors=errors)


@asynccontextmanager
async def open_mem0(embedding: EmbeddingModel, model: ModelFactory) -> AsyncIterator[Mem0Memory]:
    """Open it, empty.

    Args:
        embedding: The embedding model.
        model: Gives the model of a case.

    Raises:
        ImportError: If Mem0 is not installed.
    """
    with TemporaryDirectory(prefix="writing-") as folder:
        # read when the package is imported: otherwise it writes to the home folder and reports its use
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}
        from mem0 import AsyncMemory  # type: ignore[import-not-found,unused-ignore]
        from qdrant_client import QdrantClient  # type: ignore[import-not-found,unused-ignore]

        unused = {"api_key": "unused"}
        store = {"client": QdrantClient(":memory:"), "embedding_model_dims": embedding.dims}
        memory = AsyncMemory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": {"provider": "openai", "config": unused},
                "embedder": {"provider": "openai", "config": unused},
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        memory.embedding_model = _Embedder(embedding)
        try:
            yield Mem0Memory(memory, model)
        finally:
            memory.close()


def _exchange(turn: Turn) -> list[dict[str, str]]:
    return [{"role": "user", "content": turn.say}, {"role": "assistant", "content": turn.reply}]


class _Model:
    """A chat model by the interface that Mem0 asks, from a thread."""

    def __init__(self, model: BaseChatModel, loop: asyncio.AbstractEventLoop) -> None:
        self._model = model
        self._loop = loop

    def generate_response(self, messages: Sequence[dict[str, str]], **kwargs: Any) -> str:
        asked = [(message["role"], message["content"]) for message in messages]
        # the meter counts on the loop
        return str(asyncio.run_coroutine_threadsafe(self._model.ainvoke(asked), self._loop).result().text)


class _Embedder:
    """The shared model, by the interface that Mem0 asks."""

    def __init__(self, model: EmbeddingModel) -> None:
        self._embeddings = model.embeddings

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        if memory_action == "search":
            return self._embeddings.embed_query(text)
        return self._embeddings.embed_documents([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return self._embeddings.embed_documents(texts)
