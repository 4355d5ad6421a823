"""A reranker of the user's own: it orders, it may fail or be late, and nothing is lost by it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy


class _Reranker(BaseDocumentCompressor):
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        raise NotImplementedError


class Kayaks(_Reranker):
    """Puts what is about kayaks first, and leaves everything else out."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        return [document for document in documents if "kayak" in document.page_content]


class Broken(_Reranker):
    """Fails."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        raise ConnectionError("no such host")


class Stuck(_Reranker):
    """Never answers."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        await asyncio.Event().wait()
        return documents


NOT_ONE = object()


async def read(reranker: str) -> MemoryResults:
    policy = MemoryPolicy.model_validate({"recall": {"reranker": f"{__name__}:{reranker}", "timeout": 0.2}})
    memory = MemoryFacade(InMemoryStore(), policy)
    texts = ["I like tea", "I own a kayak", "I play chess"]
    await memory.semantic.add(texts, user_id="ann", session_id="s", agent_id="a")
    query = MemoryQuery(
        user_id="ann", session_id="t", agent_id="a", scopes=[MemoryScope.SEMANTIC], query="What do I own?"
    )
    return await memory.read(query)


async def test_it_orders_and_what_it_leaves_out_comes_last() -> None:
    results = await read("Kayaks")
    assert results[0].payload["text"] == "I own a kayak"
    assert len(results) == 3
    assert results.missing == {}


@pytest.mark.parametrize(
    ("reranker", "cause"),
    [
        ("Broken", "ConnectionError: no such host"),
        ("Stuck", "TimeoutError"),
        ("NOT_ONE", "not a LangChain document compressor but object"),
    ],
)
async def test_without_it_there_is_the_order_without_it(reranker: str, cause: str) -> None:
    results = await read(reranker)
    assert len(results) == 3
    assert list(results.missing) == ["reranker"]
    assert cause in results.missing["reranker"]


@pytest.mark.parametrize("path", ["kayaks", "no_such_module:Kayaks", f"{__name__}:Missing"])
def test_a_path_where_nothing_is_is_refused_with_the_config(path: str) -> None:
    with pytest.raises(ValidationError, match="reranker"):
        MemoryPolicy.model_validate({"recall": {"reranker": path}})
