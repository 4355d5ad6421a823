"""Proof of absence: after a user is forgotten, no row of any table says anything of them."""

from __future__ import annotations

import pytest
from langchain_core.tools import tool
from psycopg.sql import SQL, Identifier

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import AgentConfig
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import encode, terminal_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings
from tests.support import labels
from tests.support.openai_server import Match, OpenAIServer, Reply, Request, ToolCall

ANN, BOB = "ann.o'neil@example.com", "bob"
MARKS = {ANN: "zebrafish", BOB: "marigold"}


def mark_of(text: str) -> str:
    return next(mark for mark in MARKS.values() if mark in text)


def answer(request: Request) -> Reply:
    """Look something up, then answer."""
    mark = mark_of(request.text)
    if request.last_role == "tool":
        return Reply(text=f"I have looked up {mark}.")
    return Reply(tool_calls=[ToolCall("look_up", {"what": f"{mark} question"})])


def extract(request: Request) -> Reply:
    """Draw everything that can be drawn from what was said."""
    mark = mark_of(request.text)
    keeps = f"I keep a {mark}"
    return Reply(
        json=labels.labelled(
            request.text,
            labels.Says(keeps),
            profile=[(keeps, "pet", mark)],
            episode=labels.episode(f"Keep a {mark}", f"{mark} looked up", steps=[f"looked up {mark}"]),
            summary=f"User keeps a {mark}.",
        )
    )


@tool
def look_up(what: str) -> str:
    """Look something up.

    Args:
        what: What.
    """
    return f"{what}: a long entry"


@pytest.fixture
def settings(database_url: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> StorageSettings:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("CHAT_MODEL", raising=False)
    # the third extraction fails, and when it is tried again: its turn waits, with the user's words kept beside it
    openai_server.add(extract, extract, when=Match(schema=True))
    openai_server.add(Reply(status=401, error="no"), when=Match(schema=True), repeat=True)
    openai_server.add(answer, when=Match(schema=False), repeat=True)
    return StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})


async def talk(settings: StorageSettings, user_id: str, thread: str) -> None:
    policy = MemoryPolicy(extraction={"mode": "inline"})
    config = AgentConfig(name="tester", manager="react_mem", memory=policy)
    async with open_agent(config, tools=[look_up], settings=settings) as agent:
        said = {"messages": [{"role": "user", "content": f"I keep a {MARKS[user_id]} in thread {thread}."}]}
        result = await agent.ainvoke(said, {"configurable": {"thread_id": thread}}, context={"user_id": user_id})
        assert MARKS[user_id] in result["messages"][-1].text
        assert agent.store is not None
        last = (*terminal_namespace(user_id), "tester")
        await agent.store.aput(last, "last", {"thread_id": thread}, index=False)


async def rows_that_say(storage: Storage, *words: str) -> dict[str, int]:
    """Return how many rows of each table say any of these words, whatever the column."""
    found = {}
    async with storage.pool.connection() as conn:
        tables = await conn.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        for table in await tables.fetchall():
            name = Identifier(table["table_schema"], table["table_name"])
            # binary columns, such as checkpoints, are shown in hexadecimal
            patterns = [f"%{form}%" for word in words for form in (word, word.encode().hex())]
            statement = SQL("SELECT count(*) AS n FROM {} AS t WHERE t::text LIKE ANY(%s)").format(name)
            row = await (await conn.execute(statement, (patterns,))).fetchone()
            assert row is not None
            if row["n"]:
                found[table["table_name"]] = row["n"]
    return found


async def test_no_row_of_any_table_says_anything_of_a_forgotten_user(settings: StorageSettings) -> None:
    await talk(settings, ANN, "ann-1")
    await talk(settings, BOB, "bob-1")
    await talk(settings, ANN, "ann-2")
    traces = [MARKS[ANN], ANN, encode(ANN), "ann-1", "ann-2"]
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.store, checkpointer=storage.checkpointer)
        assert len(await memory.pending(ANN)) == 1
        scopes = {item.scope for item in await memory.list_records(ANN)}
        drawn = {MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.PROFILE}
        assert scopes >= drawn
        before = await rows_that_say(storage, *traces)
        # what is searched here is where it should be before it is gone
        assert {"store", "store_vectors", "checkpoints", "checkpoint_writes"} <= before.keys()
        bob = await rows_that_say(storage, MARKS[BOB], "bob-1", f".{BOB}.")
        exported = [line async for line in memory.export_user(BOB)]

        assert set(await memory.forget_user(ANN)) == {"ann-1", "ann-2"}

        assert await rows_that_say(storage, *traces) == {}
        assert await rows_that_say(storage, MARKS[BOB], "bob-1", f".{BOB}.") == bob
        assert [line async for line in memory.export_user(BOB)] == exported


async def test_a_deleted_conversation_leaves_no_row_and_the_others_whole(settings: StorageSettings) -> None:
    await talk(settings, ANN, "ann-1")
    await talk(settings, BOB, "bob-1")
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.store, checkpointer=storage.checkpointer)
        bob = await rows_that_say(storage, MARKS[BOB], "bob-1")
        # somebody else's conversation is not the owner's to delete
        await memory.delete_session(ANN, "bob-1")
        assert await rows_that_say(storage, MARKS[BOB], "bob-1") == bob
        await memory.delete_session(ANN, "ann-1")
        assert await rows_that_say(storage, MARKS[ANN], "ann-1") == {}
        assert await rows_that_say(storage, MARKS[BOB], "bob-1") == bob
