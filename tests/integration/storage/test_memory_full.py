"""Quotas of what is stored: at the bound turns are answered and not remembered, and whoever writes is told why."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import MemoryFull, QuotaExceeded
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryScope, MemoryWriteEvent
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.model.policy import QuotaSettings
from react_mem.memory.store import room
from react_mem.memory.store.capabilities import everything
from react_mem.memory.write.remembering import remember
from react_mem.tools.memory_tools import store_fact
from tests.support.databases import open_memory_store, word_model
from tests.support.rest import MEMORIES, client_as
from tests.support.scripted_model import ScriptedModel, calls

KINDS = ("memory", "sealed")
Open = Callable[[], Any]


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest) -> Open:
    """Open a store of a kind."""
    kind = request.param
    url = request.getfixturevalue("database_url") if kind != "memory" else ""

    @asynccontextmanager
    async def open_one() -> AsyncIterator[BaseStore]:
        if kind == "memory":
            yield InMemoryStore()
            return
        async with open_memory_store(url, word_model(), sealed=True) as store:
            yield store

    return open_one


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let a count be old from now on."""
    return lambda: monkeypatch.setattr(room, "_FRESH_SECONDS", -1.0)


def policy_of(**quotas: int) -> MemoryPolicy:
    return MemoryPolicy.model_validate({"quotas": quotas, "extraction": {"mode": "off"}})


def graph_of(store: BaseStore, model: ScriptedModel, policy: MemoryPolicy, *, middleware: bool = False) -> Any:
    if middleware:
        memory = MemoryMiddleware(policy=policy)
        return create_agent(
            model, [], middleware=[memory], context_schema=AgentContext, store=store, checkpointer=InMemorySaver()
        )
    config = AgentConfig(name="tester", manager="react_mem", memory=policy)
    return build_agent(
        resolve_agent(config, model=model, tools=[store_fact]), store=store, checkpointer=InMemorySaver()
    )


async def say(graph: Any, said: Any, thread: str = "1") -> tuple[str, list[str]]:
    """Return the answer, and what the memory events of the turn say of memory that is full."""
    told, answer = [], ""
    asked = {"messages": [HumanMessage(said)]}
    config: Any = {"configurable": {"thread_id": thread}}
    async for mode, part in graph.astream(asked, config, context={"user_id": "ann"}, stream_mode=["custom", "values"]):
        if mode == "custom" and "is full" in str(part.get("message")):
            assert (part["type"], part["status"]) == ("memory", "degraded")
            told.append(part["operation"])
        elif mode == "values":
            answer = part["messages"][-1].text
    return answer, told


async def texts(store: BaseStore) -> set[str]:
    found = await store.asearch(("memory", "ann", "dialog"), limit=1000)
    return {item.value["text"] for item in found if item.value["kind"] == "message"}


@pytest.mark.parametrize("middleware", [False, True], ids=["react_mem", "middleware"])
async def test_a_turn_beyond_the_bound_is_answered_not_remembered_and_made_up_for_once_there_is_room(
    opened: Open, later: Callable[[], None], caplog: pytest.LogCaptureFixture, middleware: bool
) -> None:
    async with opened() as store:
        model = ScriptedModel(script=["one", "two", "three", "four"])
        saver = graph_of(store, model, policy_of(memories=4, messages_a_day=9), middleware=middleware)
        assert await say(saver, "I have a boat.") == ("one", [])
        stored = len(await everything(store, "ann"))
        assert await texts(store) == {"I have a boat.", "one"}
        later()
        # the bound is what the first turn has stored, whatever that comes to
        full = graph_of(
            store, model, policy_of(memories=len(await texts(store)), messages_a_day=9), middleware=middleware
        )
        for answer in ("two", "three"):
            assert await say(full, f"I have a {answer}.") == (answer, ["store", "extract"])
        assert len(await everything(store, "ann")) == stored
        assert await texts(store) == {"I have a boat.", "one"}
        assert sum("is not remembered any more" in one.message for one in caplog.records) == 1
        assert "boat" not in caplog.text
        # the thread has what was said: with the first turn of it for which there is room it is stored
        wide = graph_of(store, model, policy_of(memories=1000), middleware=middleware)
        wide.checkpointer = full.checkpointer
        assert await say(wide, "I have a car.") == ("four", [])
        said = {"I have a boat.", "one", "I have a two.", "two", "I have a three.", "three", "I have a car.", "four"}
        assert await texts(store) == said
        if not middleware:
            counted = await store.aget(("memory", "ann", "meta"), "quotas")
            assert counted is not None
            assert counted.value["messages_a_day"] == 3


async def test_bytes_bound_texts_and_attachments(opened: Open) -> None:
    async with opened() as store:
        graph = graph_of(store, ScriptedModel(script=["one", "two", "three"]), policy_of(bytes=60_000))
        assert await say(graph, "I have a boat.") == ("one", [])
        image = base64.b64encode(b"\x89PNG" + bytes(90_000)).decode()
        shown = [{"type": "image", "base64": image, "mime_type": "image/png"}, {"type": "text", "text": "my boat"}]
        assert await say(graph, shown, "2") == ("two", ["store", "extract"])
        assert await texts(store) == {"I have a boat.", "one"}
        assert await say(graph, "I have a car.", "3") == ("three", [])


async def test_every_other_way_in_names_the_quota_and_the_cure(opened: Open) -> None:
    async with opened() as store:
        wide = MemoryFacade(store, policy_of())
        await wide.semantic.add(["User has a boat."], user_id="ann", session_id="1", agent_id="a")
        lines = [line async for line in wide.export_user("ann")]
        memory = MemoryFacade(store, policy_of(memories=1))
        about: dict[str, Any] = {"user_id": "ann", "session_id": "1", "agent_id": "a"}
        other = json.dumps(json.loads(lines[1]) | {"record": json.loads(lines[1])["record"] | {"id": "f" * 32}})
        ways: list[Callable[[], Any]] = [
            lambda: memory.semantic.add(["User has a car."], **about),
            lambda: memory.semantic.add_documents([{"text": "Cars.", "title": "cars"}], **about),
            lambda: memory.write(MemoryWriteEvent(scope=MemoryScope.SEMANTIC, data={"text": "A car."}, **about)),
            lambda: memory.dialog.append("ann", "1", [HumanMessage("A car.", id="m")], agent_id="a"),
            lambda: memory.profile.update_profile("ann", {"name": "Ann"}),
            lambda: memory.episodic.record("A car", **about),
            lambda: memory.state.save_state("flow", "1", {"step": 1}, user_id="ann"),
            lambda: memory.import_user("ann", [lines[0], other]),
            lambda: remember(memory, "ann", "I have a car."),
        ]
        for way in ways:
            with pytest.raises(
                ValueError, match=r"is full: 1 memories .* of the 1 .*forget .*memory\.quotas\.memories"
            ) as full:
                await way()
            assert isinstance(full.value, MemoryFull)
        assert [line async for line in wide.export_user("ann")] == lines
        # what is believed can be corrected and forgotten all the same, and then there is room at once
        [fact] = await memory.list_records("ann", [MemoryScope.SEMANTIC])
        corrected = await memory.correct("ann", fact.id, "User has a ship.")
        await memory.forget("ann", fact.id, corrected.id)
        await ways[0]()
        # and of another owner nothing is counted here
        await memory.semantic.add(["User has a car."], **{**about, "user_id": "bob"})


async def test_a_tool_tells_the_model_that_memory_is_full() -> None:
    store = InMemoryStore()
    await MemoryFacade(store, policy_of()).semantic.add(["A."], user_id="ann", session_id="1", agent_id="a")
    model = ScriptedModel(script=[calls(("store_fact", {"text": "I have a car."})), "done"])
    await say(graph_of(store, model, policy_of(memories=1)), "I have a car.")
    assert "is full" in str(model.prompts[-1])
    assert "Nothing was stored" in str(model.prompts[-1])


async def test_a_route_answers_413_by_the_quotas_of_the_agent_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = {"manager": "react_mem", "memory": {"quotas": {"memories": 3}}}
    (tmp_path / "bounded.yaml").write_text(json.dumps(agent), encoding="utf-8")
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path))
    store = InMemoryStore()
    async with client_as(store, "ann") as ann:
        told = {"text": "I have a boat.", "agent": "bounded"}
        assert (await ann.post(MEMORIES, json=told)).status_code == 201
        refused = await ann.post(MEMORIES, json={**told, "text": "I have a car. I have a ship."})
        assert refused.status_code == 413
        assert "is full" in refused.json()["detail"]
        assert (await ann.post(MEMORIES, json={**told, "agent": "nobody"})).status_code == 422


async def test_writes_at_once_get_no_more_room_than_there_is(opened: Open) -> None:
    limit = 8
    async with opened() as store:
        memory = MemoryFacade(store, policy_of(memories=limit))

        async def write(number: int) -> None:
            event = {"user_id": "ann", "session_id": "s", "agent_id": "a", "scope": "semantic"}
            told = {**event, "data": {"text": f"I have {number} cats"}}
            await memory.write(MemoryWriteEvent.model_validate(told))

        done = await asyncio.gather(*map(write, range(40)), return_exceptions=True)
        assert done.count(None) == limit
        assert all(one is None or isinstance(one, MemoryFull) for one in done)
        assert (await room.stored_of(store, "ann")).memories == limit


async def test_processes_at_once_get_together_what_there_is(database_url: str) -> None:
    """Each has a store and an event loop of its own, as processes have."""
    limit = 8
    ready = threading.Barrier(2)

    async def take(wanted: int, *, alone: bool = False) -> int:
        async with open_memory_store(database_url, word_model(), sealed=True) as store:
            if not alone:
                ready.wait(60)
            quotas = QuotaSettings(messages_a_day=limit)
            taken = (room.take_message(store, "ann", quotas) for _ in range(wanted))
            done = await asyncio.gather(*taken, return_exceptions=True)
        assert all(one is None or isinstance(one, QuotaExceeded) for one in done)
        return done.count(None)

    async with open_memory_store(database_url, word_model(), sealed=True):
        pass
    # as many as there are, less one: neither uses it up alone
    got = await asyncio.gather(*(asyncio.to_thread(lambda: asyncio.run(take(limit - 1))) for _ in range(2)))
    assert sum(got) == limit
    # and a process that comes later finds it used up
    assert await take(3, alone=True) == 0
