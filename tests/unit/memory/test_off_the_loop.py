"""Everything of an owner is gone through in a thread, and the whole of a conversation not at every turn."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging import forks as tree
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.rights import erasure, forgetting, portability, receipts
from react_mem.memory.write import following
from react_mem.memory.write.turns import Turns


def turns(store: InMemoryStore) -> Turns:
    return Turns(MemoryFacade(store, MemoryPolicy(extraction={"mode": "off"})), None, "ann", "1", "tester")


async def talk(one: Turns, count: int) -> list[BaseMessage]:
    thread: list[BaseMessage] = []
    for number in range(count):
        since = str(thread[-1].id) if thread else None
        thread += [HumanMessage(f"I like tea {number}.", id=f"q{number}"), AIMessage("ok", id=f"a{number}")]
        await one.close(thread, since)
    return thread


async def forget(one: Turns) -> None:
    await forgetting.forget_said(one.memory.store, "ann", "I like tea 0")


async def delete(one: Turns) -> None:
    await one.memory.delete_session("ann", "1")


async def fork(one: Turns) -> None:
    await one.branches.follow(MESSAGE.id("1", "a0"))


@pytest.mark.parametrize(
    ("module", "name", "work"),
    [
        (forgetting, "erasing", forget),
        (forgetting, "Unsaid", forget),
        (receipts, "links_of", forget),
        (portability, "_lines", forget),
        (erasure, "forgetting", delete),
        (tree, "believed", fork),
        (following, "fall", fork),
    ],
)
async def test_everything_of_an_owner_is_gone_through_in_a_thread(
    module: ModuleType, name: str, work: Callable[[Turns], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, threads = turns(InMemoryStore()), []
    await talk(one, 3)
    done = getattr(module, name)

    def watched(*arguments: Any, **named: Any) -> Any:
        threads.append(threading.get_ident())
        return done(*arguments, **named)

    monkeypatch.setattr(module, name, watched)
    await work(one)
    assert threads
    assert threading.get_ident() not in threads


async def test_a_turn_does_not_go_through_the_whole_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    one, looked_at = turns(InMemoryStore()), []
    is_said = following.is_said

    def watched(message: BaseMessage) -> bool:
        looked_at.append(message.id)
        return is_said(message)

    monkeypatch.setattr(following, "is_said", watched)
    await talk(one, 20)
    assert looked_at == []
