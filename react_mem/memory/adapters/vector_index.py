"""Search index of a namespace in any LangChain `VectorStore`: entries, queries, checks, and notes of missing entries.

An external vector store may return fewer hits than asked for, other users' hits or outdated ones. So every search is
bounded to one namespace by a filter in its own dialect, goes on until there is enough, and returns hits, which the
caller checks against their items.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from langgraph.store.base import BaseStore, GetOp, Item, PutOp, get_text_at_path

from react_mem.memory.index.entries import MAX_CHUNKS, chunks
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.namespaces import Namespace
from react_mem.memory.store.capabilities import WHOLE

_SPACE = uuid.UUID("0f4c6e0e-3f0b-5d0b-9f4a-6f2f5f0f8a31")

_AT_ONCE = 500
"""Vectors of one call: within the limits of every service known to us, and a second of a local embedder's work."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Dialect:
    """Query dialect of one kind of vector store.

    `where` gives, for the label of a namespace, the keyword arguments that bound a search to the documents with this
    value in their metadata field `namespace`; a filter that is applied after the search is no such bound. `similarity`
    turns the store's score into one that is higher for nearer hits, by default by its own relevance function. It
    returns `most` documents at once. Sync methods are called `in_threads` where async ones are unreliable. `added_with`
    gives keyword arguments for adding entries; `says_empty` tells the error of a search in an index that is still
    empty.
    """

    where: Callable[[str], dict[str, Any]]
    similarity: Callable[[float], float] | None = None
    most: int = 1_000_000
    in_threads: bool = False
    added_with: Callable[[Any], dict[str, Any]] = lambda _: {}
    says_empty: Callable[[Exception], bool] = lambda _: False


DIALECTS: dict[str, Dialect] = {
    # its filter is a function, which it calls before it compares
    "InMemoryVectorStore": Dialect(
        lambda label: {"filter": lambda document: document.metadata.get("namespace") == label}, float
    ),
    "Milvus": Dialect(lambda label: {"expr": f'namespace == "{label}"'}, most=16_384),
    # its async delete sends what the service does not understand
    "OpenSearchVectorSearch": Dialect(
        lambda label: {"efficient_filter": {"term": {"metadata.namespace.keyword": label}}},
        float,
        most=10_000,
        in_threads=True,
        # the engine that it takes by itself knows no filter, and is refused for a new index from version 3 on
        added_with=lambda vectors: {"engine": "lucene"} if vectors.engine == "nmslib" else {},
        # it makes the index with the first entry
        says_empty=lambda error: getattr(error, "error", "") == "index_not_found_exception",
    ),
}
"""Vector stores by the name of their class, or of a base class."""

EQUALITY = Dialect(lambda label: {"filter": {"namespace": label}})
"""Dialect of most other vector stores, such as Chroma, PGVector and Pinecone."""


@dataclass(frozen=True)
class VectorEntry:
    """Item to index; its value is None where it is gone, its fields are empty where it is not to be found."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    fields: Sequence[str]


@dataclass(frozen=True)
class VectorHit:
    """Hit of a vector store, unverified: a text, or a piece of a long one, with the path of its field.

    `fields` has all paths of the item that were searchable when it was indexed; a higher score is nearer.
    """

    key: str
    field: str
    fields: tuple[str, ...]
    text: str
    score: float

    def is_of(self, value: Mapping[str, Any]) -> bool:
        """Return true if an item still has the text of the hit."""
        return self.text in _pieces(value, self.field)


class VectorIndex:
    """Items in a vector store, which embeds them; its dialect follows from its class by default."""

    def __init__(self, vectors: VectorStore, dialect: Dialect | None = None) -> None:
        self._vectors = vectors
        names = [kind.__name__ for kind in type(vectors).__mro__]
        self._dialect = dialect or next((DIALECTS[name] for name in names if name in DIALECTS), EQUALITY)
        self._tells_what_it_has = True

    async def replace(self, entries: Sequence[VectorEntry]) -> None:
        """Replace the entries of these items, each given once. Idempotent; a failure is raised."""
        wanted = {id_: document for entry in entries for id_, document in _documents(entry)}
        every = [_id(entry.namespace, entry.key, number) for entry in entries for number in range(MAX_CHUNKS)]
        for ids in (every[start : start + _AT_ONCE] for start in range(0, len(every), _AT_ONCE)):
            present = await self._present(ids)
            # what is there as it should be is not embedded again
            kept = {id_ for id_, one in present.items() if one and id_ in wanted and _same(wanted[id_], one)}
            gone = [id_ for id_ in present if id_ not in kept]
            new = [id_ for id_ in ids if id_ in wanted and id_ not in kept]
            # several refuse or double an id that they have
            if gone and await self._call("delete", ids=gone) is False:
                raise RuntimeError(f"the vector store could not delete {len(gone)} entries; its own log says why")
            if new:
                documents = [wanted[id_] for id_ in new]
                await self._call("add_documents", documents, ids=new, **self._dialect.added_with(self._vectors))

    async def _call(self, method: str, *given: Any, **named: Any) -> Any:
        """Call a method of the vector store, in its async form unless that is unreliable."""
        if self._dialect.in_threads:
            return await asyncio.to_thread(getattr(self._vectors, method), *given, **named)
        return await getattr(self._vectors, f"a{method}")(*given, **named)

    async def _present(self, ids: Sequence[str]) -> dict[str, Document | None]:
        """Return the ids that the vector store has, or may have, with their documents where it tells them."""
        if self._tells_what_it_has:
            try:
                return {str(found.id): found for found in await self._vectors.aget_by_ids(ids)}
            except NotImplementedError:
                self._tells_what_it_has = False
        return dict.fromkeys(ids)

    async def search(self, namespace: Namespace, query: str, first: int) -> AsyncIterator[list[VectorHit]]:
        """Yield pages of hits in a namespace itself, the nearest first; each page asks for twice as many."""
        label = _label(namespace)
        where = self._dialect.where(label)
        number = first
        seen: set[tuple[str, str]] = set()
        while True:
            number = min(number, self._dialect.most)
            try:
                found = await self._call("similarity_search_with_score", query, k=number, **where)
            except Exception as error:
                if not self._dialect.says_empty(error):
                    raise
                return
            if found:
                similarity = self._dialect.similarity or self._vectors._select_relevance_score_fn()
                # the bound was the vector store's to keep
                ours = [(doc, score) for doc, score in found if doc.metadata.get("namespace") == label]
                hits = [
                    VectorHit(
                        str(document.metadata["key"]),
                        str(document.metadata["field"]),
                        tuple(json.loads(document.metadata["fields"])),
                        document.page_content,
                        float(similarity(score)),
                    )
                    for document, score in ours
                ]
                new = [hit for hit in hits if (hit.key, hit.text) not in seen]
                seen.update((hit.key, hit.text) for hit in new)
                yield new
            if len(found) < number:
                return
            if number == self._dialect.most:
                log.warning("a search stops at the %d entries that the vector store returns at most", number)
                return
            number *= 2


def _documents(entry: VectorEntry) -> list[tuple[str, Document]]:
    if entry.value is None:
        return []
    pieces = [(field, piece) for field in entry.fields for piece in _pieces(entry.value, field)]
    label, fields = _label(entry.namespace), json.dumps(list(entry.fields))
    return [
        (
            _id(entry.namespace, entry.key, number),
            Document(piece, metadata={"namespace": label, "key": entry.key, "field": field, "fields": fields}),
        )
        for number, (field, piece) in enumerate(pieces[:MAX_CHUNKS])
    ]


def _pieces(value: Mapping[str, Any], field: str) -> list[str]:
    return [piece for text in get_text_at_path(value, field) for piece in chunks(text)]


def _same(wanted: Document, present: Document) -> bool:
    # services add fields of their own
    return wanted.page_content == present.page_content and wanted.metadata.items() <= present.metadata.items()


def _label(namespace: Namespace) -> str:
    """Return the filter label of a namespace: it needs no quoting, and names no user."""
    return hashlib.sha256(".".join(namespace).encode()).hexdigest()


def _id(namespace: Namespace, key: str, number: int) -> str:
    return str(uuid.uuid5(_SPACE, f"{_label(namespace)}\x1f{number}\x1f{key}"))


# Notes of items to index.

NOTES = "vector_index"
"""Namespace of the notes; the item's namespace follows."""

KNOWN = "vector_index_known"
"""Namespace of the marks of vector stores that have been backfilled."""

FIELDS = ("text",)
"""Fields that are searched of an item unless its write says otherwise."""

PAGE = 500
_TRIES = 3
"""Retries for an item that changes while it is indexed; then its note waits for the next run."""

Place = tuple[Namespace, str]


def is_note(namespace: Namespace) -> bool:
    """Return true if a namespace belongs to the vector store's bookkeeping."""
    return namespace[:1] in ((NOTES,), (KNOWN,))


class VectorNotes:
    """Notes of items that a vector store has yet to index, in the store of the records."""

    def __init__(self, inner: BaseStore, index: VectorIndex, covers: Callable[[Namespace], bool]) -> None:
        self._inner = inner
        self._index = index
        self._covers = covers

    def noted(self, puts: Sequence[PutOp]) -> dict[Place, PutOp]:
        """Return a note for each item to index; of an item that is put twice, the last."""
        noted: dict[Place, PutOp] = {}
        for put in puts:
            if self._covers(put.namespace):
                wanted = FIELDS if put.index is None else put.index or ()
                fields = [] if put.value is None else list(wanted)
                value = {"fields": fields, "stamp": uuid.uuid4().hex}
                noted[put.namespace, put.key] = PutOp((NOTES, *put.namespace), put.key, value, index=False)
        return noted

    async def follow(self, noted: Mapping[Place, PutOp]) -> dict[Place, str]:
        """Index noted items, and return the failed ones, still noted, with the cause."""
        notes = {place: dict(note.value or {}) for place, note in noted.items()}
        if not notes:
            return {}
        try:
            left = await self.settle({place: note["fields"] for place, note in notes.items()})
        except Exception as error:
            cause = cause_of(error)
            log.warning("the vector store does not follow, %d items wait for it: %s", len(notes), cause)
            return dict.fromkeys(notes, cause)
        done = [place for place in notes if place not in left]
        found = await self._inner.abatch([GetOp((NOTES, *space), key, refresh_ttl=False) for space, key in done])
        # one that was noted anew meanwhile is somebody else's to finish
        over = [
            place
            for place, item in zip(done, cast("list[Item | None]", found), strict=True)
            if item is not None and item.value.get("stamp") == notes[place].get("stamp")
        ]
        await self._inner.abatch([PutOp((NOTES, *space), key, None) for space, key in over])
        return dict.fromkeys(left, "it changes all the time")

    async def settle(self, fields: Mapping[Place, Sequence[str]]) -> set[Place]:
        """Index items until the store has the indexed values, and return the places that keep changing."""
        left = dict(fields)
        for _ in range(_TRIES):
            before = await self._values(left)
            await self._index.replace(
                [VectorEntry(space, key, before[space, key], paths) for (space, key), paths in left.items()]
            )
            # another process may have changed one in between, and have been faster
            after = await self._values(left)
            left = {place: paths for place, paths in left.items() if before[place] != after[place]}
            if not left:
                break
        return set(left)

    async def _values(self, places: Iterable[Place]) -> dict[Place, Mapping[str, Any] | None]:
        wanted = list(places)
        found = await self._inner.abatch([GetOp(space, key, refresh_ttl=False) for space, key in wanted])
        items = cast("list[Item | None]", found)
        return {place: item.value if item else None for place, item in zip(wanted, items, strict=True)}

    async def catch_up(self, prefix: Namespace) -> dict[Place, str]:
        """Index the noted items below a prefix, and return the failed ones with the cause."""
        left: dict[Place, str] = {}
        waiting = await self._inner.asearch(prefix, limit=WHOLE, refresh_ttl=False)
        for start in range(0, len(waiting), PAGE):
            page = waiting[start : start + PAGE]
            notes = {(item.namespace[1:], item.key): PutOp(item.namespace, item.key, item.value) for item in page}
            left |= await self.follow(notes)
        return left
