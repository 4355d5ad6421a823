"""What runs behind the turns keeps users apart: one's trouble is not another's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from graphs.background import extract_later, extractor_thread
from graphs.maintenance import BackgroundContext, build_maintenance
from memory.background import background
from memory.facade import MemoryFacade
from memory.interface import MemoryPolicy
from memory.namespaces import pending_namespace
from memory.turns import Turns


def turns(store: InMemoryStore, user_id: str, session_id: str = "1", **policy: Any) -> Turns:
    return Turns(MemoryFacade(store, MemoryPolicy(**policy)), None, user_id, session_id, "tester")


async def say(one: Turns, text: str) -> None:
    await one.close([HumanMessage(text, id="q"), AIMessage("ok", id="a")], None)


async def test_work_for_users_and_conversations_with_similar_names_is_not_mixed_up() -> None:
    store = InMemoryStore()
    first, second = turns(store, "ann/b", "c", debounce=0), turns(store, "ann", "b/c", debounce=0)
    for one in (first, second):
        await say(one, "I have a cat.")
        await extract_later(one, one.memory.policy, on_server=False)
    assert await background().drain(5)
    assert [await one.memory.pending(one.user_id) for one in (first, second)] == [[], []]
    assert extractor_thread("a\x1fb", "c") != extractor_thread("a", "b\x1fc")


async def test_maintenance_goes_on_with_the_next_user_where_one_cannot_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHAT_MODEL", "extractive")
    store = InMemoryStore()
    await store.aput(pending_namespace("aaa"), "broken", {"kind": "pending", "id": "broken", "created_at": ""})
    maintenance = build_maintenance()
    maintenance.store = store
    fine = replace(turns(store, "bob"), agent_id="assistant")
    await say(fine, "I have a cat.")
    waiting = [{**value, "created_at": "2020-01-01T00:00:00Z"} for value in await fine.memory.pending("bob")]
    for value in waiting:
        await store.aput(pending_namespace("bob"), value["id"], value)
    done = await maintenance.ainvoke({}, context=BackgroundContext())
    assert len(done["problems"]) == 1
    assert await fine.memory.pending("bob") == []
