"""Ways in which an erasure may be broken: each leaves something, and the receipt names the place."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from psycopg import sql

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.rights import erasure
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.postgres import MemoryStore
from tests.support.telling import tell

KEYS = "talk", "user_id", "langgraph_auth_user_id", "owner"
COPIED = "INSERT INTO store (owner, prefix, key, value) SELECT {}, {}, key, value FROM kept_store LIMIT 1"
OF_THREAD = "INSERT INTO {0} SELECT * FROM kept_{0} WHERE thread_id = {1}"

WAYS = {
    "facts": ("store", COPIED.format("{user}", "'memory.' || {user} || '.semantic'")),
    "a row in another's name": ("store", COPIED.format("'bob'", "'memory.' || {user} || '.semantic'")),
    "vectors": ("store_vectors", "INSERT INTO store_vectors SELECT * FROM kept_store_vectors LIMIT 1"),
    "checkpoints of a conversation": ("checkpoints", OF_THREAD.format("checkpoints", "{user} || '-talk'")),
    "values of a graph": ("checkpoint_blobs", OF_THREAD.format("checkpoint_blobs", "{user} || '-user_id'")),
    "a thread with an owner": ("checkpoints", OF_THREAD.format("checkpoints", "{user} || '-owner'")),
    "a thread under another key": (
        "checkpoints",
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint, metadata)"
        " VALUES ({user} || '-else', '1', '{{}}', jsonb_build_object('email', {user}))",
    ),
    "a write to a thread of nobody": (
        "checkpoint_writes",
        "INSERT INTO checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob)"
        " SELECT {user} || '-nobody', '1', '1', 0, 'said', convert_to(value ->> 'text', 'UTF8') FROM kept_store"
        " WHERE value ->> 'kind' = 'fact'",
    ),
    "a copy as bytes": (
        "copy_as_bytes",
        "CREATE TABLE copy_as_bytes AS SELECT convert_to(value::text, 'UTF8') FROM kept_store",
    ),
    "a row that names the user": (
        "naming",
        "CREATE TABLE naming AS SELECT jsonb_build_object('user_id', {user}) AS told",
    ),
    "a view of copies": (
        "a_view",
        "CREATE TABLE seen AS SELECT value::text FROM kept_store; CREATE MATERIALIZED VIEW a_view AS TABLE seen",
    ),
}


class State(TypedDict):
    said: Annotated[list[str], add]


@pytest.fixture
async def saver(memory_store: MemoryStore) -> ThreadSaver:
    made = ThreadSaver(memory_store.pool)
    await made.setup()
    return made


async def live(store: MemoryStore, saver: ThreadSaver, user: str, keys: Sequence[str] = KEYS) -> MemoryFacade:
    """Have a user talk with memory, and with graphs that have nothing to do with it but the checkpointer."""
    said = f"I keep a fish called {user} in the blue tank"
    memory = MemoryFacade(store, checkpointer=saver)
    [message] = await memory.dialog.append(user, f"{user}-talk", [HumanMessage(said, id=user)], agent_id="a")
    await tell(store, said, source_ids=[message.id], session_id=f"{user}-talk", user_id=user)
    graph = StateGraph(State).add_node("say", lambda _: {"said": ["Noted."]}).add_edge(START, "say")
    compiled = graph.compile(checkpointer=saver)
    for key in keys:
        names = {"talk": {}, "owner": {"metadata": {key: user}}}.get(key, {"configurable": {key: user}})
        config: Any = {**names, "configurable": {**names.get("configurable", {}), "thread_id": f"{user}-{key}"}}
        await compiled.ainvoke({"said": [said]}, config)
    return memory


def broken(way: str, user: str) -> str:
    """Return the statements that leave something of a user."""
    return WAYS[way][1].format(user=f"'{user}'")


async def test_each_way_of_leaving_something_is_told_by_its_place(
    memory_store: MemoryStore, saver: ThreadSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = []
    checked = erasure.checked
    async with memory_store.pool.connection() as conn:
        await conn.execute("SET session_replication_role = replica")
        for number, (way, (place, _)) in enumerate({"nothing": ("", ""), **WAYS}.items()):
            user = f"ann{number:03}"
            memory = await live(
                memory_store, saver, user, [key for key in KEYS if f"'-{key}'" in WAYS.get(way, KEYS)[1]]
            )
            for table in ("store", "store_vectors", "checkpoints", "checkpoint_blobs", "checkpoint_writes"):
                column = "owner" if table.startswith("store") else "left(thread_id, 6)"
                copied = f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table} WHERE {column} = '{user}'"
                await conn.execute(sql.SQL(f"DROP TABLE IF EXISTS pg_temp.kept_{table}; {copied}"))  # type: ignore[arg-type]

            async def leaving(*given: Any, way: str = way, user: str = user, **more: Any) -> Any:
                if way in WAYS:
                    await conn.execute(sql.SQL(broken(way, user)))  # type: ignore[arg-type]
                return await checked(*given, **more)

            monkeypatch.setattr(erasure, "checked", leaving)
            receipt = (await memory.forget_user(user, proof=True)).receipt
            left = {check.name.rpartition(".")[2].removeprefix("table ") for check in receipt.left}
            if way == "nothing":
                assert receipt.problems == ()
            elif place not in left or receipt.is_gone or "nothing left" in receipt.in_short():
                missed.append((way, left))
    assert missed == []


async def test_a_thread_of_a_graph_of_ones_own_is_found_and_goes(memory_store: MemoryStore, saver: ThreadSaver) -> None:
    memory = await live(memory_store, saver, "ann000")
    await live(memory_store, saver, "bob000")
    assert (await memory.delete_session("ann000", "bob000-user_id", proof=True)).left == ()
    assert (await memory.delete_session("ann000", "ann000-user_id", proof=True)).left == ()
    assert set(await memory.forget_user("ann000", proof=True)) == {
        f"ann000-{key}" for key in ("talk", "langgraph_auth_user_id", "owner")
    }
    kept = {one.config["configurable"]["thread_id"] async for one in saver.alist(None)}
    assert kept == {f"bob000-{key}" for key in KEYS}


async def test_threads_of_any_checkpointer_are_found_by_their_metadata() -> None:
    saver = InMemorySaver()
    graph = StateGraph(State).add_node("say", lambda _: {"said": ["Noted."]}).add_edge(START, "say")
    compiled = graph.compile(checkpointer=saver)
    for user, key in (("ann", "user_id"), ("bob", "user_id"), ("bob", "langgraph_auth_user_id")):
        # who is authenticated counts, whoever else is named
        named = {"user_id": "ann", key: user, "thread_id": f"{user}-{key}"}
        await compiled.ainvoke({"said": ["Hi."]}, {"configurable": named})
    gone = await MemoryFacade(InMemoryStore(), checkpointer=saver).forget_user("ann")
    assert gone == ["ann-user_id"]
    assert gone.receipt.problems == ()
    assert {one.config["configurable"]["thread_id"] for one in saver.list(None)} == {
        "bob-user_id",
        "bob-langgraph_auth_user_id",
    }


async def test_a_receipt_names_what_was_not_looked_at(memory_store: MemoryStore, saver: ThreadSaver) -> None:
    memory = await live(memory_store, saver, "ann000")
    await memory.dialog.append("ann000", "ann000-talk", [HumanMessage("My bus is 4711", id="bus")], agent_id="a")
    nobodys: Sequence[Any] = [{"configurable": {"thread_id": "nobodys"}}]
    graph = StateGraph(State).add_node("say", lambda _: {"said": ["Noted."]}).add_edge(START, "say")
    await graph.compile(checkpointer=saver).ainvoke({"said": ["Hello."]}, nobodys[0])
    receipt = (await memory.forget_user("ann000", proof=True)).receipt
    assert receipt.is_gone
    told = {check.name: check.problem for check in receipt.limits}
    assert told.keys() == {f"unread {place}" for place in ("threads", "short texts", "rows of other owners", "files")}
    assert told["unread threads"].startswith("1 that name nobody")
    assert "Never looked at: threads (1 that name nobody" in receipt.in_short()
