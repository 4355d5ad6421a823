"""What was said a moment ago in another conversation is recalled before it is indexed."""

from __future__ import annotations

from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.turns import Turns
from tests.support.databases import WordEmbeddings


async def test_what_waits_to_be_read_is_recalled_once_and_by_nobody_else() -> None:
    words = WordEmbeddings()
    store = InMemoryStore(index={"dims": words.dims, "embed": words, "fields": ["text"]})
    memory = MemoryFacade(store, MemoryPolicy.model_validate({}))
    turns = Turns(memory, None, "ann", "monday", "assistant")
    await turns.open([HumanMessage("My cat is called Mimi.", id="1")], None)

    async def recalled(user: str, session: str) -> list[str]:
        query = MemoryQuery(
            user_id=user,
            session_id=session,
            agent_id="assistant",
            scopes=[MemoryScope.DIALOG],
            query="What is my cat called?",
        )
        return [item.payload["text"] for item in await memory.read(query)]

    # once: by its note, or by its message where a store finds what is not indexed
    assert await recalled("ann", "tuesday") == ["My cat is called Mimi."]
    assert await recalled("bob", "tuesday") == []
