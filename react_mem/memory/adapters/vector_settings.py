"""Settings of a vector store for searching memory."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field, model_validator

from react_mem.memory.adapters.vector_notes import KNOWN
from react_mem.memory.adapters.vectorstore import SEARCHED, VectorIndexedStore, with_vector_index
from react_mem.memory.model.interface import MemoryScope

log = logging.getLogger(__name__)


class VectorIndexSettings(BaseModel, extra="forbid", frozen=True):
    """Vector store for searching memory; a text alone is its `factory`.

        {"factory": "langchain_milvus:Milvus", "options": {"connection_args": {"uri": "./milvus.db"}}}

    Args:
        factory: The path `package.module:attribute` of its class, or of a function of your own, async or not, that
            takes the embedding model and returns it.
        options: Further arguments of the factory.
        scopes: The scopes of memory that are searched in it.
    """

    factory: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    # an address may hold a password
    options: dict[str, Any] = Field(default_factory=dict, repr=False)
    scopes: frozenset[MemoryScope] = SEARCHED

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: Any) -> Any:
        return {"factory": given} if isinstance(given, str) else given

    async def open(self, embeddings: Embeddings) -> VectorStore:
        """Make the vector store with an embedding model.

        Raises:
            ValueError: If there is no such factory, or it makes something else; the message names the fix.
        """
        made = await asyncio.to_thread(self._make, embeddings)
        if inspect.isawaitable(made):
            made = await made
        if not isinstance(made, VectorStore):
            raise ValueError(f"{self.factory!r} makes a {type(made).__name__}, which is not a LangChain VectorStore")
        return made

    def _make(self, embeddings: Embeddings) -> Any:
        module, _, path = self.factory.partition(":")
        try:
            factory: Any = importlib.import_module(module)
            for name in path.split("."):
                factory = getattr(factory, name)
        except ImportError as error:
            raise ValueError(
                f"the vector store {self.factory!r} cannot be imported ({error}); install its package, such as "
                "`pip install langchain-milvus 'pymilvus[milvus-lite]'` for Milvus"
            ) from None
        except AttributeError as error:
            raise ValueError(f"the vector store {self.factory!r} does not exist: {error}") from None
        return factory(**self._arguments(factory, embeddings))

    def _arguments(self, factory: Any, embeddings: Embeddings) -> dict[str, Any]:
        taken = inspect.signature(factory).parameters
        # each integration has a name of its own for it
        for name in ("embedding_function", "embedding", "embeddings"):
            if name in taken:
                return {name: embeddings, **self.options}
        raise ValueError(
            f"{self.factory!r} takes no embedding model: give it a parameter `embedding`, it has {', '.join(taken)}"
        )


async def open_vector_index(
    store: BaseStore, settings: VectorIndexSettings | Mapping[str, Any] | str, embeddings: Embeddings
) -> VectorIndexedStore:
    """Return a store that searches in the vector store of the settings, after indexing is up to date.

    A vector store that is new to the store is backfilled with everything in the store.

    Args:
        store: The store of the records.
        settings: The settings; a text is the path of the factory.
        embeddings: The embedding model.

    Raises:
        ValueError: If it cannot be made; the message names the fix.
    """
    checked = settings if isinstance(settings, VectorIndexSettings) else VectorIndexSettings.model_validate(settings)
    opened = with_vector_index(store, await checked.open(embeddings), scopes=checked.scopes)
    known = hashlib.sha256(f"{checked.factory}\x1f{sorted(checked.options.items())!r}".encode()).hexdigest()
    scopes = sorted(checked.scopes)
    before = await store.aget((KNOWN,), known)
    if before is None or not set(scopes) <= set(before.value["scopes"]):
        log.info("the vector store %s is given what memory holds already", checked.factory)
        await opened.reindex()
        await store.aput((KNOWN,), known, {"scopes": scopes}, index=False)
    await opened.repair()
    return opened
