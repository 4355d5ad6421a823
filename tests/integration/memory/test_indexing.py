"""On a real database: an answer that comes while its question is being indexed, and messages that wait."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from psycopg import AsyncConnection

from react_mem.graphs.server import MaintenanceContext, build_maintenance
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.write.turns import Turns
from tests.support.databases import WordEmbeddings, open_memory_store

ASKED = HumanMessage("I like green tea.", id="q")
ANSWERED = AIMessage("Noted, green tea.", id="a")


class SlowEmbeddings(WordEmbeddings):
    """An embedder that takes as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.set()
        await self.go_on.wait()
        return await super().aembed_documents(texts)


def turns(memory: MemoryFacade) -> Turns:
    return Turns(memory, None, "ann", "1", "assistant")


async def unembedded(url: str) -> list[str]:
    async with await AsyncConnection.connect(url) as conn:
        rows = await conn.execute(
            "SELECT value ->> 'text' FROM store s WHERE value ->> 'kind' = 'message' AND NOT EXISTS (SELECT FROM"
            " store_vectors v WHERE v.owner = s.owner AND v.prefix = s.prefix AND v.key = s.key AND v.half IS NOT NULL)"
            " ORDER BY 1"
        )
        return [row[0] for row in await rows.fetchall()]


@pytest.mark.parametrize("policy", [{}, {"extraction": {"mode": "off"}}], ids=["reads", "reads nothing"])
@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_answer_that_comes_while_its_question_is_embedded_is_indexed(
    database_url: str, cancelled: bool, policy: dict[str, str]
) -> None:
    embeddings = SlowEmbeddings()
    async with open_memory_store(database_url, EmbeddingModel("test:slow", 64, embeddings)) as store:
        one = turns(MemoryFacade(store, MemoryPolicy.model_validate(policy)))
        thread: list[BaseMessage] = [ASKED]
        await one.open(thread, None)
        embeddings.asked.clear()
        embeddings.go_on.clear()
        work = asyncio.create_task(one.extract())
        await embeddings.asked.wait()
        await one.close([*thread, ANSWERED], ASKED.id)
        if cancelled:
            work.cancel()
        embeddings.go_on.set()
        await asyncio.gather(work, return_exceptions=True)
        [note] = await one.memory.pending("ann")
        assert len(note["source_ids"]) == 2
        await one.extract()
        assert await one.memory.pending("ann") == []
        assert await unembedded(database_url) == []


async def test_maintenance_embeds_messages_that_wait(
    database_url: str, words: EmbeddingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_MODEL", "extractive")
    async with open_memory_store(database_url, words) as store:
        one = turns(MemoryFacade(store))
        await one.close([ASKED, ANSWERED], None)
        await one.extract()
        await one.open([ASKED, ANSWERED, HumanMessage("I like coffee.", id="q2")], ANSWERED.id)
        assert await unembedded(database_url) == ["I like coffee."]
        maintenance = build_maintenance()
        maintenance.store = store
        await maintenance.ainvoke({}, context=MaintenanceContext(user_id="ann"))
        assert await unembedded(database_url) == []
        assert [note["text"] for note in await one.memory.pending("ann")] == ["I like coffee."]
