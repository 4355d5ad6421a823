"""Optional reranking of recalled memories by any LangChain document compressor.

A cross-encoder or a small model reads question and text together, at the cost of time before the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache

from langchain_core.documents import BaseDocumentCompressor, Document

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.model.interface import reranker_at

_PLACE = "place"


@lru_cache(maxsize=8)
def load_reranker(path: str) -> BaseDocumentCompressor:
    """Return the cached reranker at a path, in the form of `check_reranker`. Blocks: it may load a model.

    Raises:
        ValueError: If there is none.
    """
    found = reranker_at(path)
    made = found if isinstance(found, BaseDocumentCompressor) else found() if callable(found) else found
    if not isinstance(made, BaseDocumentCompressor):
        raise ValueError(f"the reranker {path!r} is not a LangChain document compressor but {type(made).__name__}")
    return made


async def rerank(path: str, query: str, found: Sequence[RecallHit]) -> list[RecallHit]:
    """Rerank recalled memories; dropped ones come last. Errors of the reranker are passed on.

    Raises:
        ValueError: If there is no such reranker.
    """
    if len(found) < 2:
        return list(found)
    reranker = await asyncio.to_thread(load_reranker, path)
    documents = [
        Document(page_content=one.text, metadata={_PLACE: place, "source": str(one.item.value.get("kind", ""))})
        for place, one in enumerate(found)
    ]
    ordered = await reranker.acompress_documents(documents, query)
    places = [place for document in ordered if isinstance(place := document.metadata.get(_PLACE), int)]
    first = [place for place in dict.fromkeys(places) if 0 <= place < len(found)]
    return [found[place] for place in [*first, *(place for place in range(len(found)) if place not in first)]]
