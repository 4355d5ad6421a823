"""Our own memory, through the public facade, as it is shipped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore

from benchmarks.databases import disk_bytes, new_database, opened
from benchmarks.locomo.dataset import Conversation, Session, Turn
from benchmarks.locomo.metrics import LIMIT, Prompt
from benchmarks.locomo.peers import Hit, Setup
from benchmarks.locomo.prompt import ASKED_IN, frame_of, prompt_of
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy

NAME = "react_mem"
AGENT = "benchmark"


class ReactMem:
    """Memory on a store.

    Args:
        store: The store.
        results: How many results a search returns, none of them cut off.
        database_url: Where the store's tables are, if it is a database.
    """

    def __init__(self, store: BaseStore, results: int = LIMIT, database_url: str | None = None) -> None:
        self._policy = MemoryPolicy.model_validate({"recall": {"max_memories": results, "cut": False}})
        self._store = store
        self._database_url = database_url
        self._turn_ids: dict[str, str] = {}

    def returning(self, results: int) -> ReactMem:
        """Return the same memory, searched for so many results."""
        other = ReactMem(self._store, results, self._database_url)
        other._turn_ids = self._turn_ids
        return other

    async def write(self, conversation: Conversation) -> None:
        """Append each session as a conversation of its own."""
        for session in conversation.sessions:
            session_id = f"{conversation.owner}/{session.id}"
            messages = [_as_message(turn, session) for turn in session.turns]
            self._turn_ids |= {message_record_id(session_id, message): str(message.id) for message in messages}
            await MemoryFacade(self._store).dialog.append(conversation.owner, session_id, messages, agent_id=AGENT)

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Ask in a new conversation, a while after the last one."""
        query = MemoryQuery(
            user_id=conversation.owner,
            session_id=ASKED_IN,
            agent_id=AGENT,
            scopes=[MemoryScope.DIALOG],
            query=question,
        )
        found = await self._read(query, conversation, self._policy)
        return [Hit(self._turn_ids.get(item.id, ""), item) for item in found]

    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        """Read all that a turn reads, by the defaults, and put its prompt together."""
        query = frame_of(question).query(Identity(conversation.owner, ASKED_IN), AGENT)
        return prompt_of(question, await self._read(query, conversation, MemoryPolicy()), self._turn_ids.get)

    async def _read(self, query: MemoryQuery, conversation: Conversation, policy: MemoryPolicy) -> MemoryResults:
        extra = query.extra | {"now": conversation.asked_at.isoformat()}
        found = await MemoryFacade(self._store, policy).read(query.model_copy(update={"extra": extra}))
        if self._database_url and found.missing:
            # it makes up for what failed, and that is not what is measured
            raise RuntimeError(f"the search was not whole: {found.missing}")
        return found

    async def disk_bytes(self) -> int | None:
        """Return the size of the memory's tables and indexes."""
        return await disk_bytes(self._database_url) if self._database_url else None


def _as_message(turn: Turn, session: Session) -> BaseMessage:
    kind = AIMessage if turn.role == "assistant" else HumanMessage
    said_at = {"said_at": session.said_at.isoformat()}
    return kind(content=turn.text, id=turn.id, name=turn.speaker, additional_kwargs=said_at)


@asynccontextmanager
async def open_react_mem(setup: Setup) -> AsyncIterator[ReactMem]:
    """Open it on a database of its own."""
    url = await new_database(setup.server_url, NAME)
    async with opened(url, setup.embeddings) as storage:
        yield ReactMem(storage.store, database_url=url)
