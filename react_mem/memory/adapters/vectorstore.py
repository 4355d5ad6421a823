"""Memory searched in any LangChain `VectorStore`, such as Milvus or OpenSearch; its records stay in the store.

`VectorIndexedStore` is a LangGraph store around another one, which keeps every record and is authoritative; the vector
store has the vectors of some scopes. A write goes to the inner store, in one batch with a note that the item is to be
indexed; then the vector store indexes it, and the note goes. A crash or an outage in between leaves the note, and the
next search or write of the owner, or the next start, catches up: nothing is lost, and no deleted item stays behind. A
search asks the vector store, bounded to the owner's namespace, and goes on until there is enough; a hit counts only if
the record is there and still has its text. Words, neighbours and times, which `MemoryStore` searches too, do not count
in these scopes. The inner store searches the others as before.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from pydantic import BaseModel, Field, model_validator

from react_mem.memory.adapters.middleware import home_of, run_blocking
from react_mem.memory.adapters.vector_index import (
    FIELDS,
    KNOWN,
    NOTES,
    PAGE,
    Dialect,
    Place,
    VectorEntry,
    VectorHit,
    VectorIndex,
    VectorNotes,
    is_note,
)
from react_mem.memory.index.entries import matches
from react_mem.memory.index.recall import Recall, RecallHit, RecallOp, scored
from react_mem.memory.llm.causes import cause_of, checked
from react_mem.memory.model.interface import Arm, MemoryScope
from react_mem.memory.model.namespaces import ROOT, Namespace
from react_mem.memory.model.operations import write
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.store.attachments import limit_of
from react_mem.memory.store.capabilities import WHOLE, StoreCapabilities, capabilities, read_all
from react_mem.memory.store.searches import ConversationPlace, Listed, ListedConversations, ListPlace, Wanted
from react_mem.memory.store.transactions import Guard

SEARCHED: frozenset[MemoryScope] = frozenset({MemoryScope.SEMANTIC})
"""Scopes indexed by default: facts and documents."""

_SPARE = 4
"""Oversampling factor of the first search: its hits include former facts, which are filtered out."""

log = logging.getLogger(__name__)


class VectorIndexedStore(BaseStore, StoreCapabilities):
    """Store with its search in a vector store, of some scopes, or of all for None: see `with_vector_index`."""

    recalls = True

    def __init__(self, inner: BaseStore, index: VectorIndex, scopes: frozenset[MemoryScope] | None) -> None:
        self.inner = inner
        self._can = capabilities(inner)
        self.guards = self._can.guards
        self.index = index
        self.scopes = scopes
        self.supports_ttl = inner.supports_ttl
        self.attachment_bytes = limit_of(inner)
        self.loop = home_of(inner)
        self._notes = VectorNotes(inner, index, self.covers)

    # LangGraph's interface

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations together, from sync code; see `memory.adapters.middleware`."""
        wanted = list(ops)
        return run_blocking(lambda: self.abatch(wanted), self)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations together, and return their results in order; the reads see the state before the writes."""
        batch = list(ops)
        results: list[Result] = [None] * len(batch)
        ours = [place for place, op in enumerate(batch) if isinstance(op, SearchOp) and self._searches(op)]
        puts = [op for op in batch if isinstance(op, PutOp)]
        noted = self._notes.noted(puts)
        if not ours and not noted:
            return list(map(_without_notes, batch, await self.inner.abatch(batch)))
        plain = [place for place, op in enumerate(batch) if place not in ours and not isinstance(op, PutOp)]
        answers = await self.inner.abatch([batch[place] for place in plain]) if plain else []
        for place, answer in zip(plain, answers, strict=True):
            results[place] = _without_notes(batch[place], answer)
        for place in ours:
            results[place] = cast("Result", await self._search(cast("SearchOp", batch[place])))
        if puts:
            await write(self.inner, [*self._plain(puts), *noted.values()])
            await self._notes.follow(noted)
        return results

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls, each in the vector store or in the inner store."""
        rest = [op for op in ops if not (isinstance(op, RecallOp) and self.covers(op.namespace))]
        ours = [op for op in ops if isinstance(op, RecallOp) and self.covers(op.namespace)]
        answers, recalled = await asyncio.gather(
            recall(self.inner, rest), asyncio.gather(*(self._recall(op) for op in ours))
        )
        rest_of, recalled_of = iter(answers), iter(recalled)
        return [
            next(recalled_of) if isinstance(op, RecallOp) and self.covers(op.namespace) else next(rest_of) for op in ops
        ]

    # Keeping up

    def covers(self, namespace: Namespace) -> bool:
        """Return true if a namespace is searched in the vector store."""
        if self.scopes is None:
            return not is_note(namespace)
        return len(namespace) == 3 and namespace[0] == ROOT and namespace[2] in self.scopes

    async def repair(self) -> int:
        """Index items that a crash or an outage left; return the number still waiting, with the causes in the log."""
        return len(await self._notes.catch_up((NOTES,)))

    async def reindex(self) -> int:
        """Index everything in the scopes, for a new vector store or embedding model; return the number of items."""
        done = 0
        for namespace in await self._namespaces((ROOT,) if self.scopes is not None else ()):
            async for page in read_all(self.inner, namespace, page=PAGE):
                # those below it have a turn of their own
                own = [item for item in page if item.namespace == namespace]
                await self.index.replace([VectorEntry(namespace, item.key, item.value, FIELDS) for item in own])
                done += len(own)
        return done

    async def amake_up_vectors(self, namespace: Namespace = ()) -> int:
        """Make the missing vectors of the inner store and index noted items below a namespace; return their number."""
        await self._notes.catch_up((NOTES, *namespace))
        return await self._can.amake_up_vectors(namespace)

    async def alisted(self, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed | None:
        return await self._can.alisted(wanted, behind, limit)

    async def aconversations(
        self, namespace: Namespace, behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        return await self._can.aconversations(namespace, behind, limit)

    async def arevision(self, owner: str) -> str | None:
        return await self._can.arevision(owner)

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        """Write the batch and return true if the guard holds; otherwise write nothing."""
        puts = [op for op in ops if isinstance(op, PutOp)]
        noted = self._notes.noted(puts)
        others = [op for op in ops if not isinstance(op, PutOp)]
        if not await self._can.abatch_if([*others, *self._plain(puts), *noted.values()], guard):
            return False
        await self._notes.follow(noted)
        return True

    def _plain(self, puts: Sequence[PutOp]) -> list[PutOp]:
        """Return the writes for the inner store, without an index where the vector store has one."""
        return [put._replace(index=False) if self.covers(put.namespace) else put for put in puts]

    def _searches(self, op: SearchOp) -> bool:
        """Return true if a search covers a namespace in the vector store."""
        prefix = op.namespace_prefix
        wide = self.scopes is None or (len(prefix) < 3 and prefix[:1] in ((), (ROOT,)))
        return bool(op.query) and (wide or self.covers(prefix))

    # Searching

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        """Search a namespace and those below it, each in its own index."""
        wanted = op.offset + op.limit
        if self.scopes is not None and self.covers(op.namespace_prefix):
            # a scope's namespace has none below it
            nearest, _ = await self._nearest(op.namespace_prefix, op.query or "", wanted, op.filter)
            items = [item for item, _ in nearest]
        else:
            items = []
            for namespace in await self._namespaces(op.namespace_prefix, all_of_them=True):
                if self.covers(namespace):
                    nearest, _ = await self._nearest(namespace, op.query or "", wanted, op.filter)
                    items += [item for item, _ in nearest]
                else:
                    one = op._replace(namespace_prefix=namespace, limit=wanted, offset=0)
                    [answer] = await self.inner.abatch([one])
                    items += [i for i in cast("list[SearchItem]", answer) if i.namespace == namespace]
            items.sort(key=lambda item: -(item.score or 0.0))
        page = items[op.offset : wanted]
        if op.refresh_ttl:
            await self.inner.abatch([GetOp(item.namespace, item.key, refresh_ttl=True) for item in page])
        return page

    async def _recall(self, op: RecallOp) -> Recall:
        try:
            nearest, late = await self._nearest(op.namespace, op.question.text, op.limit, op.conditions, op.without)
        except Exception as error:
            cause = cause_of(error)
            log.warning("the vector store cannot be searched: %s", cause)
            return Recall((), {Arm.VECTOR: cause})
        found = [
            RecallHit(
                item,
                arms={Arm.VECTOR: item.score or 0.0},
                similarity=None,
                passage="" if hit.text == item.value.get("text") else hit.text,
            )
            for item, hit in nearest
        ]
        return Recall(found, {Arm.VECTOR: late} if late else {})

    async def _nearest(
        self,
        namespace: Namespace,
        query: str,
        limit: int,
        conditions: Mapping[str, Any] | None,
        without: Sequence[str] = (),
    ) -> tuple[list[tuple[SearchItem, VectorHit]], str]:
        """Return the items of a namespace nearest to a text, each with its hit, and a note on missing ones."""

        async def verified() -> tuple[list[tuple[SearchItem, VectorHit]], dict[Place, Sequence[str]]]:
            """Return the verified hits, and the outdated entries of the vector store."""
            found: dict[str, tuple[SearchItem, VectorHit]] = {}
            stale: dict[Place, Sequence[str]] = {}
            items: dict[str, Item | None] = {}
            if limit <= 0:
                return [], stale
            async for page in self.index.search(namespace, query, _SPARE * limit):
                new = [key for key in dict.fromkeys(hit.key for hit in page) if key not in items]
                answers = await self.inner.abatch([GetOp(namespace, key, refresh_ttl=False) for key in new])
                items |= dict(zip(new, cast("list[Item | None]", answers), strict=True))
                for hit in page:
                    item = items[hit.key]
                    if item is None or not hit.is_of(item.value):
                        stale[namespace, hit.key] = hit.fields
                    elif hit.key not in found and hit.key not in without and matches(item.value, conditions):
                        found[hit.key] = (scored(item, hit.score), hit)
                if len(found) >= limit:
                    break
            return sorted(found.values(), key=lambda pair: -(pair[0].score or 0.0))[:limit], stale

        late = await self._notes.catch_up((NOTES, *namespace))
        found, stale = await verified()
        if stale:
            # what a lost race left: put right, it is found where it belongs
            await self._notes.settle(stale)
            found, _ = await verified()
        causes = "; ".join(sorted(set(late.values())))
        return found, f"{len(late)} memories wait for the vector store: {causes}" if late else ""

    async def _namespaces(self, prefix: Namespace, *, all_of_them: bool = False) -> list[Namespace]:
        found = await self.inner.alist_namespaces(prefix=prefix or None, limit=WHOLE)
        return [name for name in found if not is_note(name) and (all_of_them or self.covers(name))]


@checked()
def with_vector_index(
    store: BaseStore,
    vectors: VectorStore,
    *,
    scopes: Iterable[MemoryScope] | None = SEARCHED,
    dialect: Dialect | None = None,
) -> VectorIndexedStore:
    """Return a store that searches in a vector store.

    Args:
        store: Keeps the records. What it holds already is not in the vector store: see `reindex`.
        vectors: The vector store, with its own embedding model; for memory alone.
        scopes: The scopes of memory that are searched in it; None for everything in the store.
        dialect: How it is asked, where `memory.adapters.vector_index.DIALECTS` does not know it.
    """
    return VectorIndexedStore(store, VectorIndex(vectors, dialect), None if scopes is None else frozenset(scopes))


def _without_notes(op: Op, answer: Result) -> Result:
    """Return the inner store's answer without the vector store's bookkeeping."""
    if isinstance(op, ListNamespacesOp | SearchOp):
        found = cast("list[Any]", answer)
        return [one for one in found if not is_note(one if isinstance(one, tuple) else one.namespace)]
    return answer


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
        """Make the vector store with an embedding model; a ValueError names the fix where that fails."""
        made = await asyncio.to_thread(self._make, embeddings)
        if inspect.isawaitable(made):
            made = await made
        if not isinstance(made, VectorStore):
            raise ValueError(f"{self.factory!r} makes a {type(made).__name__}, which is not a LangChain VectorStore")
        return made

    def _make(self, embeddings: Embeddings) -> Any:
        try:
            factory: Any = pkgutil.resolve_name(self.factory)
        except (ImportError, ValueError) as error:
            raise ValueError(
                f"the vector store {self.factory!r} cannot be imported ({error}); install its package, such as "
                "`pip install langchain-milvus 'pymilvus[milvus-lite]'` for Milvus"
            ) from None
        except AttributeError as error:
            raise ValueError(f"the vector store {self.factory!r} does not exist: {error}") from None
        taken = inspect.signature(factory).parameters
        # each integration has a name of its own for it
        for name in ("embedding_function", "embedding", "embeddings"):
            if name in taken:
                return factory(**{name: embeddings, **self.options})
        raise ValueError(
            f"{self.factory!r} takes no embedding model: give it a parameter `embedding`, it has {', '.join(taken)}"
        )


async def open_vector_index(
    store: BaseStore, settings: VectorIndexSettings | Mapping[str, Any] | str, embeddings: Embeddings
) -> VectorIndexedStore:
    """Return a store that searches in the vector store of the settings, after indexing is up to date.

    A vector store that is new to the store is backfilled with everything in the store. A ValueError names the fix where
    it cannot be made.
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
