"""What is looked at after something was forgotten, and what is said where it cannot be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace, work_namespace
from react_mem.memory.model.operations import Change, Check, Receipt
from react_mem.memory.model.records import fact_id
from react_mem.memory.rights import portability, receipts
from react_mem.memory.rights.forgetting import forget_said
from tests.support.telling import tell


async def test_what_takes_too_long_to_look_at_is_told_and_the_rest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = MemoryFacade(InMemoryStore())
    await memory.semantic.add(["I like green tea"], user_id="ann", session_id="s", agent_id="a")

    async def hanging(*_arguments: Any) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    monkeypatch.setattr(receipts, "_PATIENCE", 0.2)
    monkeypatch.setattr(portability, "exported", hanging)
    done = await forget_said(memory.store, "ann", "I like green tea")
    assert done.texts == ("I like green tea",)
    assert "export: TimeoutError" in done.receipt.problems
    assert await memory.semantic.history(user_id="ann") == []


async def held(store: BaseStore) -> tuple[MemoryFacade, InMemorySaver]:
    """Return a memory in which Ann has said something on two days, with the threads."""
    threads = InMemorySaver()
    memory = MemoryFacade(store, checkpointer=threads)
    for day, text in (("monday", "I like green tea"), ("tuesday", "I have a boat")):
        said = await memory.dialog.append("ann", day, [HumanMessage(text, id=day)], agent_id="a")
        await tell(store, text, source_ids=[said[0].id], session_id=day)
        config: Any = {"configurable": {"thread_id": day, "checkpoint_ns": ""}}
        await threads.aput(config, empty_checkpoint(), {}, {})
    return memory, threads


async def deleted(memory: MemoryFacade) -> Receipt:
    return await memory.delete_session("ann", "monday")


async def forgotten(memory: MemoryFacade) -> Receipt:
    return (await memory.forget_user("ann")).receipt


async def unsaid(memory: MemoryFacade) -> Receipt:
    return await memory.forget("ann", fact_id("user", "I like green tea"))


Erase = Callable[[MemoryFacade], Awaitable[Receipt]]


@pytest.mark.parametrize(("erase", "each"), [(deleted, 1), (forgotten, 2)])
async def test_what_is_erased_as_a_whole_has_a_receipt(erase: Erase, each: int) -> None:
    memory, _ = await held(InMemoryStore())
    receipt = await erase(memory)
    gone = {kind: len(ids) for kind, ids in receipt.removed.items()}
    assert (gone, receipt.messages, receipt.problems) == ({"fact": each, "message": each}, each, ())
    looked = {check.name.split()[0] for check in receipt.checks}
    assert {"scope", "arm", "links", "cache", "export", "threads", "work", "bookmarks"} <= looked


@pytest.mark.parametrize("erase", [deleted, forgotten, unsaid])
async def test_the_receipt_of_what_is_not_erased_names_what_is_left(
    erase: Erase, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, threads = await held(InMemoryStore())

    async def writes_nothing(
        _store: BaseStore, _user: str, step: Callable[[], Awaitable[tuple[Any, Sequence[Change]]]], **_options: bool
    ) -> Any:
        return (await step())[0]

    async def keeps(_thread: str) -> None:
        return None

    for module in ("erasure", "forgetting"):
        monkeypatch.setattr(f"react_mem.memory.rights.{module}.transact", writes_nothing)
    monkeypatch.setattr(threads, "adelete_thread", keeps)
    receipt = await erase(memory)
    left = {check.name for check in receipt.checks if check.hits}
    # one statement leaves its thread
    assert {"scope dialog", "scope semantic", "arm vector", "export", "threads"} - left <= (
        {"threads"} if erase is unsaid else set()
    )
    assert "green tea" not in receipt.model_dump_json()
    fact = next(check for check in receipt.checks if check.name == "scope semantic")
    assert set(receipt.removed["fact"]) >= set(fact.ids)


async def test_the_receipt_of_a_user_names_what_is_written_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, _ = await held(InMemoryStore())

    def from_another_process(store: BaseStore, user_id: str) -> None:
        work = {"kind": "extract", "agent": "a", "session": "monday", "due_at": 1}
        store.put(work_namespace(user_id), "late", work, index=False)
        store.put(scope_namespace(user_id, MemoryScope.STATE), "late", {"kind": "state"}, index=False)

    monkeypatch.setattr("react_mem.memory.rights.erasure.forget_caches", from_another_process)
    receipt = (await memory.forget_user("ann")).receipt
    assert receipt.problems == ("scope state: 1 left", "export: 1 left", "work: 1 left")


async def test_a_conversation_that_somebody_else_held_is_not_touched() -> None:
    memory, threads = await held(InMemoryStore())
    receipt = await memory.delete_session("bob", "monday")
    assert (receipt.removed, receipt.rewritten, receipt.problems) == ({}, {}, ())
    assert await threads.aget_tuple({"configurable": {"thread_id": "monday"}}) is not None


@pytest.mark.parametrize(
    ("checks", "is_gone", "said"),
    [
        ((Check(name="scope dialog"),), True, "0 removed, 0 rewritten; 1 checks, nothing left"),
        (
            (Check(name="scope dialog"), Check(name="arm vector", problem="no answer in 3 seconds")),
            True,
            "1 checks, nothing left. The rows are gone. Not looked at: arm vector (no answer in 3 seconds); ask again",
        ),
        ((Check(name="export", problem="TimeoutError"), Check(name="scope dialog")), True, "The rows are gone"),
        ((Check(name="scopes", problem="TimeoutError"),), False, "nothing left. Not looked at: scopes (TimeoutError)"),
        ((Check(name="table public.store", problem="QueryCanceled"),), False, "Not looked at: table public.store"),
        ((Check(name="scope dialog"), Check(name="arm vector", hits=2)), False, "arm vector: 2 left"),
    ],
)
def test_a_check_that_could_not_be_made_is_told_apart_from_one_that_found_something(
    checks: tuple[Check, ...], is_gone: bool, said: str
) -> None:
    receipt = Receipt(checks=checks)
    assert receipt.is_gone is is_gone
    assert said in receipt.in_short()
