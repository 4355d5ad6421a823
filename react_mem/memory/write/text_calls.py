"""Memory by texts, beside the scopes: add, search, list, get, update, delete and history, as in Mem0 and LangMem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from langchain_core.messages import convert_to_messages

from react_mem.errors import NotThere
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.language.comparison import share
from react_mem.memory.language.standing import standing_in
from react_mem.memory.llm.causes import checked_calls
from react_mem.memory.merging.authors import is_users
from react_mem.memory.merging.transcript import text_of
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import DOCUMENT, FACT, MESSAGE
from react_mem.memory.model.operations import Receipt
from react_mem.memory.model.records import now
from react_mem.memory.model.views import MemoryItem, MemoryVersion, ScoredMemory
from react_mem.memory.rights.feedback import told_statements
from react_mem.memory.rights.showing import MAX_PAGE
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.write.remembering import remember

_NO_MESSAGES = 'messages: are no messages; give a text, or {"role": "user", "content": "I live in Hue."} each'
_NOT_THERE = "this user has no such memory; take an `id` that `add`, `search` or `list` returned"


@checked_calls
class TextCalls(MemoryFacade):
    """Memory by texts. Each call names the owner, and reaches nobody else's memories."""

    async def add(
        self, messages: str | Mapping[str, Any] | Sequence[Any], *, user_id: str, agent_id: str = ""
    ) -> Sequence[MemoryItem]:
        """Remember a text, or the user's statements in messages, and return the memories, known ones too.

        Raises:
            ValueError: If a text only asks or is too long, or these are no messages.
        """
        alone = isinstance(messages, str)
        texts = [messages] if isinstance(messages, str) else _said_in(messages)
        done = [await remember(self, user_id, text, agent_id=agent_id, alone=alone) for text in texts]
        return [*{one.id: one for told in done for one in told.memories}.values()]

    async def search(self, query: str, *, user_id: str, limit: int = 10) -> Sequence[ScoredMemory]:
        """Return the facts and documents nearest to a query, the best first, with scores from 0 to 1.

        A score tells how similar the text is, or, where the store compares no meanings, which share of the query's
        words it has. What words lift above another memory has at least its score.
        """
        if limit < 1 or not query.strip():
            raise ValueError("query: is empty, or limit: is less than 1; say what to look for, or take `list`")
        most = {"max_memories": limit, "max_docs": limit}
        policy = self.policy.model_copy(update={"recall": self.policy.recall.model_copy(update=most)})
        asked = {"user_id": user_id, "session_id": "search", "agent_id": "search", "query": query}
        found = await MemoryFacade(self.store, policy).read(
            MemoryQuery(scopes=[MemoryScope.SEMANTIC], extra={"cut": False}, **asked)
        )
        # LangGraph's stores list the rest behind what they find
        hits = [item for item in found if item.arms or item.similarity is not None][:limit]
        scores = [*accumulate((_score(query, item) for item in reversed(hits)), max)][::-1]
        return [
            ScoredMemory.of(item.scope, item.id, item.payload, now(), most=None).model_copy(update={"score": score})
            for item, score in zip(hits, scores, strict=True)
        ]

    async def get_all(self, *, user_id: str, limit: int = 100) -> Sequence[MemoryItem]:
        """Return the believed facts, the documents and the standing instructions, the latest first."""
        stands = {"kind": MESSAGE.name, "standing": "instruction"}
        orders = await self.store.asearch(MESSAGE.namespace(user_id), filter=stands, limit=WHOLE, refresh_ttl=False)
        items = [MemoryItem.of(MemoryScope.DIALOG, one.key, one.value, now(), most=None) for one in orders]
        cursor: str | None = ""
        left = limit
        while cursor is not None and (left > 0 or not cursor):
            page = await self.page(user_id, kinds=(FACT.name, DOCUMENT.name), limit=min(left, MAX_PAGE), cursor=cursor)
            items += page.items
            left, cursor = left - len(page.items), page.next_cursor
        return sorted(items, key=lambda one: one.created_at, reverse=True)[:limit]

    async def get(self, id_: str, *, user_id: str) -> MemoryItem | None:
        """Return one memory; None where the user has no such memory."""
        return await self.find(user_id, id_)

    async def update(self, id_: str, text: str, *, user_id: str) -> MemoryItem:
        """Put a text in the place of a believed fact, which stays as history; return the new memory."""
        if await self.get(id_, user_id=user_id) is None:
            raise NotThere(_NOT_THERE)
        fact = await self.correct(user_id, id_, text, vouched=True)
        return MemoryItem.of(MemoryScope.SEMANTIC, fact.id, fact.to_value(), now(), most=None)

    async def delete(self, id_: str, *, user_id: str) -> Receipt:
        """Forget a memory for good, with its sentences and all derived from it; `NotThere` without such a memory."""
        receipt = await self.forget(user_id, id_)
        if not (receipt.removed or receipt.rewritten):
            raise NotThere(_NOT_THERE)
        return receipt

    async def history(self, id_: str, *, user_id: str) -> Sequence[MemoryVersion]:
        """Return the versions of a fact, the oldest first; `NotThere` without such a memory."""
        if (detail := await self.explain(user_id, id_)) is None:
            raise NotThere(_NOT_THERE)
        return detail.history

    list = get_all


def _said_in(messages: Mapping[str, Any] | Sequence[Any]) -> list[str]:
    """Return the texts of messages in which the user states or orders something."""
    try:
        given = convert_to_messages([dict(messages)] if isinstance(messages, Mapping) else messages)
    except Exception:  # LangChain's, of any class, quotes what it cannot read
        raise ValueError(_NO_MESSAGES) from None
    texts = [text_of(message).strip() for message in given if is_users(message)]
    return [text for text in texts if standing_in(text) or told_statements(text, alone=False)]


def _score(query: str, item: MemoryResultItem) -> float:
    return item.similarity if item.similarity is not None else share(query, [str(item.payload.get("text") or "")])
