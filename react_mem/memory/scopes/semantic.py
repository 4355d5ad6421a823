"""Semantic scope: facts about the user, knowledge drawn from them, and provided documents."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from langgraph.store.base import Op

from react_mem.memory.index.entries import orders
from react_mem.memory.index.recall import Question, RecallOp, as_read, is_over, only
from react_mem.memory.language.folding import normalise
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import DOCUMENT, FACT, kinds_of
from react_mem.memory.model.operations import Operation, discreet_text
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Document, Fact, now, with_zone, written_in
from react_mem.memory.retrieval.last_known import as_of as believed_as_of
from react_mem.memory.scopes.scope import MAX_AS_OF, ScopeStore, with_spare

_TRIPLE = ("subject", "predicate", "object")
"""Fact in three parts, the form before the text alone was the fact."""

_GIVEN = {"text", "about", *_TRIPLE}

_BELIEVED: dict[str, Any] = {"kind": {"$ne": DOCUMENT.name}, "current": True}
"""Filter for facts and knowledge in one search, at the cost of one for facts alone. Concepts are never `current`."""


class SemanticMemoryStore(ScopeStore):
    """The semantic scope. Reads return current facts; `history` returns former ones, too."""

    scope = MemoryScope.SEMANTIC

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Search current facts and knowledge, and documents in a second search, so that neither starves the other.

        With `extra["history"]` former facts are searched as well ("where did I live before?"); also as of a time, when
        they may have been current.
        """
        if not self._policy.recall.semantic:
            return []
        limit = with_spare(self._policy.recall.max_memories)
        former = self._search(query, question, limit, kind=FACT.name, current=False)
        return [
            self._search(query, question, limit, **_BELIEVED),
            self._search(query, question, with_spare(self._policy.recall.max_docs), kind=DOCUMENT.name),
            *([former] if query.extra.get("history") or query.as_of else []),
        ]

    def as_of(self, value: Mapping[str, Any], at: datetime) -> dict[str, Any] | None:
        """Return a fact, or another record, as of a time; None where it was not believed."""
        if not FACT.matches(value):
            return super().as_of(value, at)
        then = believed_as_of(Fact.from_value(dict(value)), at)
        return None if then is None else then.to_value()

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return facts and documents in one order of relevance; a fact past its last day is a former one."""
        at = with_zone(query.as_of or query.asked_at)
        limit, limit_docs = self._policy.recall.max_memories, self._policy.recall.max_docs
        standing = [self._unseen(only(answer, lambda value: not is_over(value, at)), query) for answer in answers]
        parts = [
            list(map(self.shown, found[:most]))
            for found, most in zip(standing, (limit, limit_docs, limit), strict=False)
        ]
        if query.extra.get("history"):
            lapsed = (self._unseen(only(answer, lambda value: is_over(value, at)), query) for answer in answers)
            past = map(self.shown, [one for found in lapsed for one in found][:limit])
            parts.append([item.model_copy(update={"payload": as_read(item.payload, at)}) for item in past])
        # each part stays in its order, which a reranker may have made
        return list(heapq.merge(*parts, key=lambda item: -(item.score or 0.0)))

    async def search(
        self, query_text: str, filters: Mapping[str, Any] | None = None, top_k: int = 5, *, user_id: str
    ) -> list[MemoryResultItem]:
        """Return the current facts and the documents nearest to a text, or the latest for an empty one.

        Args:
            filters: Conditions on the records' fields, in the store's syntax: {"kind": "document"}, {"about": "user"}.
                Any other name is one of a document's `metadata`: {"product": "laptop", "price": {"$lt": 900}}.
        """
        conditions = {"current": True, **_by_fields(filters or {})}
        orders(conditions)
        found = await self._find(user_id, query_text, with_spare(top_k), conditions)
        return [item for item in found if not is_over(item.payload, now())][:top_k]

    async def add_documents(
        self,
        docs: Sequence[LangChainDocument | Document | Mapping[str, Any]] | Mapping[str, Any],
        *,
        user_id: str,
        session_id: str = "",
        agent_id: str = "",
    ) -> list[Document]:
        """Store documents; existing ones stay as they are. A ValueError names the place of one without a text.

        Args:
            docs: LangChain documents, whose `metadata` may have `title` and `source`; mappings with a `text` (or
                `content`, `page_content`) and perhaps a `title`, a `source` (or `uri`, `url`), an `id` and `metadata`,
                to which all other keys are added; or records. One mapping is one document.
        """
        records = [
            doc if isinstance(doc, Document) else self._document(doc, place, session_id, agent_id)
            for place, doc in enumerate([docs] if isinstance(docs, Mapping) else docs)
        ]
        await self._keep(user_id, records, dated=False)
        return records

    async def add(
        self, facts: Sequence[Mapping[str, Any] | str], *, user_id: str, session_id: str, agent_id: str
    ) -> list[Fact]:
        """Add facts that the application knows, and return every one that is new or changed.

        They are imports, not the user's own words: nothing is compared beyond the words, and they end nothing. A fact
        with the same words gets these sources as well; a retired one is believed again, unless the user had said it.

        Args:
            facts: {"text", "about", "source_ids"} each, or only a text: `about` is the subject, else the user, and
                `source_ids` the messages that say it. {"subject", "predicate", "object"} is read as well: the subject
                as `about`, and the three as the text where there is none. One that says nothing is a ValueError.
        """
        return await self._add(user_id, facts, session_id=session_id, agent_id=agent_id)

    async def _add(self, user_id: str, facts: Sequence[Mapping[str, Any] | str], **written: Any) -> list[Fact]:
        made = [_operation(fact) for fact in facts]
        operations = [replace(one, text=await discreet_text(one.text, self._policy.secrets)) for one in made]
        await self._room(user_id, [operation.text for operation in operations])
        return await write_facts(self.store, user_id, operations, at=now(), **written)

    async def history(
        self,
        query_text: str = "",
        *,
        user_id: str,
        about: str | None = None,
        as_of: datetime | None = None,
        limit: int = 50,
    ) -> list[Fact]:
        """Return facts whether or not they are still believed, the oldest first: "where did I live before?".

        Args:
            about: The subject: `user`, or a name; None for any.
            as_of: A time: only facts believed then, as they were; without a zone, in UTC.
        """
        if query_text:
            wide = limit if as_of is None else max(limit, MAX_AS_OF)
            found = [item.payload for item in await self._find(user_id, query_text, wide, {"kind": FACT.name})]
        else:
            found = await self.every(user_id, kind=FACT.name)
        facts = [Fact.from_value(value) for value in found]
        if as_of is not None:
            # the nearest come first
            facts = [then for fact in facts if (then := believed_as_of(fact, with_zone(as_of)))]
            facts = facts[:limit] if query_text else facts
        told = [fact for fact in facts if about is None or normalise(fact.about) == normalise(about)]
        return sorted(told, key=lambda fact: (fact.valid_from or fact.said_at, fact.id))[-limit:]

    async def write(self, event: MemoryWriteEvent) -> None:
        """Store a record, a fact as {"text"} or {"text", "about"}, or a document as {"text", "metadata"} or {"text",
        "source"}; a ValueError names a wrong field and the fix.
        """
        if set(event.data) <= {*_GIVEN, "source_ids", "kind"} and FACT.may_be(event.data):
            own = {"session_id": event.session_id, "agent_id": event.agent_id, "told": written_in(event)}
            await self._add(event.user_id, [event.data], **own)
        else:
            await super().write(event)

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Derive a document's id; data with a source or metadata, and no kind, is a document."""
        given = data.keys() & {"metadata", *_TEXT_NAMES, *_SOURCE_NAMES} - {"text"}
        if DOCUMENT.may_be(data) and (given - Document.model_fields.keys() or ("kind" not in data and given)):
            kept = {name: data[name] for name in Document.model_fields.keys() & data.keys() - _DOCUMENT_NAMES}
            rest = _as_document({name: value for name, value in data.items() if name not in kept})
            named = {name: value for name, value in rest.items() if value is not None}
            data = {**kept, **named, "kind": DOCUMENT.name}
        if not DOCUMENT.matches(data):
            return data
        return {"id": DOCUMENT.id(str(data.get("uri", "")), str(data.get("text", ""))), **data}

    def _document(
        self, doc: LangChainDocument | Mapping[str, Any], place: int, session_id: str, agent_id: str
    ) -> Document:
        if isinstance(doc, LangChainDocument):
            given = {"text": doc.page_content, "id": doc.id, **_provenance(doc.metadata)}
        elif isinstance(doc, Mapping):
            given = _as_document(doc)
        else:
            raise ValueError(f"docs[{place}] is a {type(doc).__name__}; give a mapping with a text, or a Document")
        if not str(given["text"]).strip():
            raise ValueError(f"docs[{place}] has no text; give it as `text`, `content` or `page_content`")
        told = {name: value for name, value in given.items() if value is not None}
        return self.made(Document, {"session_id": session_id, "agent_id": agent_id, **told})


def _by_fields(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter by the fields of records; other names go to `metadata`."""
    fields = {name for kind in kinds_of(MemoryScope.SEMANTIC) for name in kind.record.model_fields}
    found: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, condition in filters.items():
        field = "uri" if name in _SOURCE_NAMES else name
        if field in fields:
            found[field] = condition
        else:
            more[name.removeprefix("metadata.")] = condition
    return found if not more else {**found, "metadata": {**found.get("metadata", {}), **more}}


_TEXT_NAMES = ("text", "content", "page_content")
_SOURCE_NAMES = ("source", "uri", "url")
_DOCUMENT_NAMES = frozenset({"id", "title", "metadata", *_TEXT_NAMES, *_SOURCE_NAMES})


def _as_document(doc: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document, given as a mapping, by the field names of its record."""
    more = doc.get("metadata") or {}
    if not isinstance(more, Mapping):
        raise ValueError(f"metadata must be a mapping, got {more!r:.80}")
    told = _provenance(more)
    return {
        "text": next((doc[name] for name in _TEXT_NAMES if doc.get(name)), ""),
        "id": doc.get("id"),
        "title": str(doc.get("title") or told["title"]),
        "uri": str(next((doc[name] for name in _SOURCE_NAMES if doc.get(name)), told["uri"])),
        "metadata": {**told["metadata"], **{name: value for name, value in doc.items() if name not in _DOCUMENT_NAMES}},
    }


def _provenance(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return title, source and remaining metadata of a document."""
    return {
        "title": str(metadata.get("title", "")),
        "uri": str(metadata.get("source", "")),
        "metadata": {name: value for name, value in metadata.items() if name not in ("title", "source")},
    }


def _operation(said: Mapping[str, Any] | str) -> Operation:
    data = {"text": said} if isinstance(said, str) else dict(said)
    for name in _GIVEN & set(data):
        if not isinstance(data[name], str):
            raise ValueError(f"memory scope semantic: {name}: must be text, got {data[name]!r:.80}")
    text, about = (str(data.get(name) or "").strip() for name in ("text", "about"))
    triple = [str(data.get(name) or "").strip() for name in _TRIPLE]
    about = about or triple[0]
    text = text or (" ".join(triple) if all(triple) else "")
    if not text:
        raise ValueError("memory scope semantic: text: is missing; give what the fact says, as a sentence")
    return Operation(
        relation="new",
        text=text,
        about="user" if normalise(about) in {"", "user"} else about,
        source_ids=tuple(map(str, data.get("source_ids", ()))),
        origin=Origin.IMPORT,
    )
