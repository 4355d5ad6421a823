"""Our own memory, through the public facade, as it is shipped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore

from benchmarks.locomo.databases import disk_bytes, new_database
from benchmarks.locomo.dataset import Conversation, Session, Turn
from benchmarks.locomo.metrics import LIMIT, Prompt
from benchmarks.locomo.prompt import ASKED_IN, frame_of, prompt_of
from benchmarks.locomo.system import Hit, Setup
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.opening import open_storage
from react_mem.memory.retrieval.alike import note_alike
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.postgres import MemoryStore

NAME = "react_mem"
AGENT = "benchmark"


class ReactMem:
    """Memory on a store, under a policy.

    Args:
        store: The store.
        policy: What to search by; the defaults, as many results as the benchmark looks at and none of them cut off,
            unless given.
        database_url: Where the store's tables are, if it is a database.
    """

    def __init__(self, store: BaseStore, policy: MemoryPolicy | None = None, database_url: str | None = None) -> None:
        self.policy = policy or MemoryPolicy.model_validate({"recall": {"max_memories": LIMIT, "cut": False}})
        self._facade = MemoryFacade(store, self.policy)
        self._database_url = database_url
        self._turn_ids: dict[str, str] = {}

    def under(self, policy: MemoryPolicy) -> ReactMem:
        """Return the same memory, read under another policy."""
        other = ReactMem(self._facade.store, policy, self._database_url)
        other._turn_ids = self._turn_ids
        return other

    async def write(self, conversation: Conversation) -> None:
        """Append each session as a conversation of its own."""
        for session in conversation.sessions:
            session_id = _session_id(conversation, session)
            messages = [as_message(turn, session) for turn in session.turns]
            self._turn_ids |= {message_record_id(session_id, message): str(message.id) for message in messages}
            await self._facade.dialog.append(conversation.owner, session_id, messages, agent_id=AGENT)

    async def link(self, conversation: Conversation) -> None:
        """Link all turns of a conversation with those that say something like it."""
        turns = [
            message_record_id(_session_id(conversation, session), as_message(turn, session))
            for session in conversation.sessions
            for turn in session.turns
        ]
        await note_alike(self._facade.store, conversation.owner, MemoryScope.DIALOG, turns)

    async def search(self, conversation: Conversation, question: str) -> list[Hit]:
        """Ask in a new conversation, a while after the last one.

        Raises:
            RuntimeError: If part of the search failed, which it makes up for: that is not what is measured.
        """
        query = MemoryQuery(
            user_id=conversation.owner,
            session_id=ASKED_IN,
            agent_id=AGENT,
            scopes=[MemoryScope.DIALOG],
            query=question,
        )
        return [Hit(self._turn_ids.get(item.id, ""), item) for item in await self._read(query, conversation)]

    async def prompt(self, conversation: Conversation, question: str) -> Prompt:
        """Read all that a turn reads, by the defaults, and put its prompt together.

        Raises:
            RuntimeError: If part of the search failed.
        """
        query = frame_of(question).query(Identity(conversation.owner, ASKED_IN), AGENT)
        found = await self.under(MemoryPolicy())._read(query, conversation)
        return prompt_of(question, found, self._turn_ids.get)

    async def _read(self, query: MemoryQuery, conversation: Conversation) -> MemoryResults:
        now = {"now": conversation.asked_at.isoformat()}
        found = await self._facade.read(query.model_copy(update={"extra": query.extra | now}))
        if self._database_url and found.missing:
            raise RuntimeError(f"the search was not whole: {found.missing}")
        return found

    async def disk_bytes(self) -> int | None:
        """Return the size of the memory's tables and indexes."""
        return await disk_bytes(self._database_url) if self._database_url else None


def _session_id(conversation: Conversation, session: Session) -> str:
    return f"{conversation.owner}/{session.id}"


def as_message(turn: Turn, session: Session) -> BaseMessage:
    """Return a turn as the message of a conversation."""
    kind = AIMessage if turn.role == "assistant" else HumanMessage
    said_at = {"said_at": session.said_at.isoformat()}
    return kind(content=turn.text, id=turn.id, name=turn.speaker, additional_kwargs=said_at)


@asynccontextmanager
async def open_react_mem(setup: Setup) -> AsyncIterator[ReactMem]:
    """Open it on a database of its own."""
    url = await new_database(setup.server_url, NAME)
    settings = StorageSettings.model_validate({"database_url": url, "embedding": setup.embedding})
    async with open_storage(settings) as storage:
        model = replace(storage.embedding, embeddings=setup.embeddings)
        async with MemoryStore(storage.pool, model) as store:
            yield ReactMem(store, database_url=url)
