"""What is known: facts about the user, what they come to together, and documents that somebody provided."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from langgraph.store.base import Op

from memory.changes import Change, put
from memory.concepts.records import Concept
from memory.consolidation import Knowledge, stale_knowledge
from memory.drafts import repeated
from memory.extraction.contract import Operation
from memory.facts import write_facts
from memory.interface import MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from memory.reconcile import retire
from memory.records import Document, Fact, Record, normalise, now, record_id
from memory.retrieval.question import Question
from memory.retrieval.recall import RecallOp
from memory.scopes.scope import SPARE, ScopeStore
from memory.transactions import transact

_TRIPLE = ("subject", "predicate", "object")
_SAID = {"text", *_TRIPLE}

_BELIEVED: dict[str, Any] = {"kind": {"$ne": "document"}, "current": True}
"""Facts and knowledge in one search, which costs what one for facts alone does. Concepts are never `current`."""


class SemanticMemoryStore(ScopeStore):
    """The semantic scope. Reads return what is current; `history` returns what no longer is, too."""

    scope = MemoryScope.SEMANTIC
    records = (Fact, Document, Knowledge, Concept)

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Search current facts and knowledge, and documents beside them, so that neither starves the other.

        With `extra["history"]` former facts are searched as well: "where did I live before?".
        """
        if not self._policy.use_semantic:
            return []
        former = [self._search(query, question, SPARE * self._policy.max_memories, kind="fact", current=False)]
        return [
            self._search(query, question, SPARE * self._policy.max_memories, **_BELIEVED),
            self._search(query, question, SPARE * self._policy.max_docs, kind="document"),
            *(former if query.extra.get("history") else []),
        ]

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return facts and documents in one order of relevance."""
        facts, documents, *former = (super(SemanticMemoryStore, self).results([answer], query) for answer in answers)
        limit = self._policy.max_memories
        parts = [facts[:limit], documents[: self._policy.max_docs], *(past[:limit] for past in former)]
        # each part stays in its order, which a reranker may have made
        return list(heapq.merge(*parts, key=lambda item: -(item.score or 0.0)))

    async def search(
        self, query_text: str, filters: Mapping[str, Any] | None = None, top_k: int = 5, *, user_id: str
    ) -> list[MemoryResultItem]:
        """Return the current facts and the documents nearest to a text.

        Args:
            query_text: What to look for; empty for the latest.
            filters: Conditions on the records' fields, as a store has them: {"kind": "document"}, {"subject": "user"}.
            top_k: How many.
            user_id: The owner.
        """
        return await self._find(user_id, query_text, top_k, {"current": True, **(filters or {})})

    async def add_documents(
        self,
        docs: Sequence[LangChainDocument | Document],
        *,
        user_id: str,
        session_id: str = "",
        agent_id: str = "",
    ) -> list[Document]:
        """Store documents; those that are stored already stay as they are.

        Args:
            docs: LangChain documents, whose `metadata` may have `title` and `source`, or records.
            user_id: The owner.
            session_id: The conversation they came up in, if any.
            agent_id: Who provides them.
        """
        records = [doc if isinstance(doc, Document) else _document(doc, session_id, agent_id) for doc in docs]
        await self._keep(user_id, records, dated=False)
        return records

    async def add(
        self, facts: Sequence[Mapping[str, Any] | str], *, user_id: str, session_id: str, agent_id: str
    ) -> list[Fact]:
        """Add facts; one that is known in other words gains support, one that contradicts a known one supersedes it.

        A text alone says too little to be compared: it is one fact with the same text, and contradicts nothing. A fact
        that was retired is believed again once a source that is new says it.

        Args:
            facts: {"subject", "predicate", "object", "text", "source_ids"} each, `source_ids` being optional, or only a
                text.
            user_id: The owner.
            session_id: The conversation they come from.
            agent_id: Who adds them.

        Returns:
            Every fact that is new or has changed, those that are superseded among them.

        Raises:
            ValueError: If one says nothing.
        """
        at = now()
        operations = [_operation(fact) for fact in facts]
        triples = [operation for operation in operations if operation.predicate]
        notes = [_note(operation, at, session_id, agent_id) for operation in operations if not operation.predicate]
        changed = (
            await write_facts(self._store, user_id, triples, at=at, session_id=session_id, agent_id=agent_id)
            if triples
            else []
        )

        async def step() -> tuple[list[Fact], list[Change]]:
            stored = await self._get(user_id, [note.id for note in notes])
            facts = {id_: Fact.from_value(value) for id_, value in stored.items()}
            for note in notes:
                facts[note.id] = repeated(facts.get(note.id), note)
            noted = [fact for id_, fact in facts.items() if fact.to_value() != stored.get(id_)]
            return noted, [self.put(user_id, fact) for fact in noted]

        return [*changed, *(await transact(self._store, user_id, step) if notes else [])]

    async def retire(self, ids: Sequence[str], *, user_id: str, source_ids: Sequence[str] = ()) -> list[Fact]:
        """End facts: they stay as dated history, and reads no longer return them.

        Args:
            ids: The facts.
            user_id: The owner.
            source_ids: The messages that end them.

        Returns:
            The facts that were current until now.
        """

        async def step() -> tuple[list[Fact], list[Change]]:
            at = now()
            stored = [Fact.from_value(v) for v in (await self._get(user_id, ids)).values() if v["kind"] == "fact"]
            retired = [retire(fact, at, at, ended_by=source_ids) for fact in stored if fact.current]
            changes = [self.put(user_id, fact) for fact in retired]
            return retired, [*changes, *await stale_knowledge(self._store, user_id, retired)]

        return await transact(self._store, user_id, step)

    async def history(
        self,
        query_text: str = "",
        *,
        user_id: str,
        subject: str | None = None,
        predicate: str | None = None,
        limit: int = 50,
    ) -> list[Fact]:
        """Return facts whether or not they are still believed, the oldest first: "where did I live before?".

        Args:
            query_text: What to look for; empty for everything.
            user_id: The owner.
            subject: Only what is about this subject.
            predicate: Only what says this of it.
            limit: How many, the nearest, or else the latest.
        """
        if query_text:
            found = [item.payload for item in await self._find(user_id, query_text, limit, {"kind": "fact"})]
        else:
            found = [value async for value in self._all(user_id, kind="fact")]
        wanted = {"subject": subject, "predicate": predicate}
        facts = [
            Fact.from_value(value)
            for value in found
            if all(text is None or normalise(value[name]) == normalise(text) for name, text in wanted.items())
        ]
        return sorted(facts, key=_since)[-limit:]

    async def write(self, event: MemoryWriteEvent) -> None:
        """Keep a record, or add a fact that is given as {"text"} or {"subject", "predicate", "object", "text"}.

        Raises:
            ValueError: If the data is neither; the message names the field and the fix.
        """
        if set(event.data) <= {*_SAID, "source_ids", "kind"} and event.data.get("kind", "fact") == "fact":
            await self.add([event.data], user_id=event.user_id, session_id=event.session_id, agent_id=event.agent_id)
        else:
            await super().write(event)

    def put(self, user_id: str, record: Record) -> Change:
        """Return the write of a record; concepts are looked up, and would only be in the way of a search."""
        return put(user_id, self.scope, record, indexed=not isinstance(record, Concept))

    def complete(self, data: dict[str, Any], event: MemoryWriteEvent) -> dict[str, Any]:
        """Derive a document's id."""
        if data.get("kind") != "document":
            return data
        return {"id": Document.identity(str(data.get("uri", "")), str(data.get("text", ""))), **data}


def _document(doc: LangChainDocument, session_id: str, agent_id: str) -> Document:
    uri = str(doc.metadata.get("source", ""))
    return Document(
        id=doc.id or Document.identity(uri, doc.page_content),
        text=doc.page_content,
        title=str(doc.metadata.get("title", "")),
        uri=uri,
        metadata={name: value for name, value in doc.metadata.items() if name not in ("title", "source")},
        session_id=session_id,
        agent_id=agent_id,
    )


def _operation(said: Mapping[str, Any] | str) -> Operation:
    data = {"text": said} if isinstance(said, str) else dict(said)
    for name in _SAID & set(data):
        if not isinstance(data[name], str):
            raise ValueError(f"memory scope semantic: {name}: must be text, got {data[name]!r:.80}")
    text = data.get("text", "").strip()
    missing = [name for name in _TRIPLE if not data.get(name, "").strip()]
    if not text:
        raise ValueError("memory scope semantic: text: is missing; give what the fact says, as a sentence")
    if missing and len(missing) < len(_TRIPLE):
        raise ValueError(
            f"memory scope semantic: {', '.join(missing)}: is missing; give the whole triple, or text alone"
        )
    return Operation(
        op="add",
        target_id=None,
        subject="" if missing else data["subject"],
        predicate="" if missing else data["predicate"],
        object="" if missing else data["object"],
        text=text,
        source_ids=tuple(map(str, data.get("source_ids", ()))),
    )


def _note(operation: Operation, at: datetime, session_id: str, agent_id: str) -> Fact:
    """Return the fact that a text alone is."""
    return Fact(
        id=record_id("note", normalise(operation.text)),
        text=operation.text,
        subject="user",
        predicate="noted",
        object=operation.text,
        created_at=at,
        said_at=at,
        session_id=session_id,
        agent_id=agent_id,
        source_ids=tuple(dict.fromkeys(operation.source_ids)),
        support=max(1, len(set(operation.source_ids))),
    )


def _since(fact: Fact) -> tuple[Any, str]:
    return (fact.valid_from or fact.said_at, fact.id)
