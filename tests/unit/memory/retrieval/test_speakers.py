"""Whose names a user's conversations have: learnt as they are written, forgotten with what they said."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.authors import forget_speakers, speakers_of
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.store.capabilities import everything
from tests.support.imported import but_for_origin


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def said(text: str, name: str | None = None, *, by: type[BaseMessage] = HumanMessage) -> BaseMessage:
    return by(content=text, id=f"{name}: {text}", name=name)


async def write(store: InMemoryStore, *messages: BaseMessage, user: str = "ann", session: str = "monday") -> None:
    await MemoryFacade(store).dialog.append(user, session, messages, agent_id="a")


async def afresh(store: InMemoryStore, user: str = "ann") -> tuple[str, ...]:
    """Return the names that another process would learn."""
    forget_speakers(store, user)
    return await speakers_of(store, user)


async def test_a_name_is_known_once_its_message_is_written(store: InMemoryStore) -> None:
    assert await speakers_of(store, "ann") == ()
    await write(store, said("hi", "Mira"), said("hello", "Tom", by=AIMessage), said("tea?"))
    assert await speakers_of(store, "ann") == ("Mira", "Tom")
    assert await afresh(store) == ("Mira", "Tom")
    await write(store, said("again", "Mira"), said("hey", "Zoe"), session="tuesday")
    assert await speakers_of(store, "ann") == ("Mira", "Tom", "Zoe")


async def test_a_name_is_forgotten_with_the_last_conversation_it_spoke_in(store: InMemoryStore) -> None:
    await write(store, said("hi", "Mira"), said("hey", "Tom"))
    await write(store, said("again", "Mira"), session="tuesday")
    memory = MemoryFacade(store)
    await memory.delete_session("ann", "monday")
    assert await speakers_of(store, "ann") == await afresh(store) == ("Mira",)
    await memory.delete_session("ann", "tuesday")
    assert await speakers_of(store, "ann") == await afresh(store) == ()


async def test_a_forgotten_user_leaves_no_name_behind(store: InMemoryStore) -> None:
    await write(store, said("hi", "Mira"))
    await write(store, said("hi", "Tom"), user="bob")
    await MemoryFacade(store).forget_user("ann")
    assert await speakers_of(store, "ann") == await afresh(store) == ()
    assert "Mira" not in str([item.value for item in await store.asearch((), limit=1000)])
    assert await afresh(store, "bob") == ("Tom",)
    await write(store, said("back", "Mira"))
    assert await speakers_of(store, "ann") == await afresh(store) == ("Mira",)


async def test_an_import_brings_names_back(store: InMemoryStore) -> None:
    await write(store, said("hi", "Mira"))
    memory = MemoryFacade(store)
    lines = [line async for line in memory.export_user("ann")]
    await memory.forget_user("ann")
    await memory.import_user("ann", lines)
    await memory.import_user("bob", lines)
    assert await speakers_of(store, "ann") == await speakers_of(store, "bob") == ("Mira",)
    # and they are no record of their own
    back = [line async for line in memory.export_user("ann")]
    assert but_for_origin(back) == but_for_origin(lines)


async def test_names_are_no_memories(store: InMemoryStore) -> None:
    await write(store, said("hi", "Mira"))
    query = MemoryQuery(user_id="ann", session_id="s", agent_id="a", scopes=list(MemoryScope), query="Mira")
    assert [item.source for item in await MemoryFacade(store).read(query)] == ["message"]
    assert [item.value["kind"] for item in await everything(store, "ann")] == ["message"]


async def test_a_question_is_read_with_the_names_of_its_owner(store: InMemoryStore) -> None:
    asked: list[str] = []

    class Asked(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            operations = list(ops)
            asked.extend(op.query for op in operations if getattr(op, "query", None))
            return await super().abatch(operations)

    there = Asked()
    await write(there, said("I have a red kayak", "Mira"))
    for user in ("ann", "bob"):
        query = MemoryQuery(
            user_id=user, session_id="s", agent_id="a", scopes=[MemoryScope.DIALOG], query="What kayak has Mira?"
        )
        await MemoryFacade(there).read(query)
    assert [*dict.fromkeys(asked)] == ["What kayak has ?", "What kayak has Mira?"]


async def test_names_stay_so_many_however_many_are_written_without_a_read_between(store: InMemoryStore) -> None:
    for batch in range(11):
        await write(store, *(said(f"I am {batch} {n}", f"Guest {batch} {n}") for n in range(10)))
    assert len(await store.asearch(meta_namespace("ann"), filter={"kind": "speaker"}, limit=1_000)) == 100


async def test_a_name_of_a_megabyte_is_cut_and_what_was_said_is_kept(store: InMemoryStore) -> None:
    await write(store, said("I like tea", "An " * 400_000))
    [name] = await afresh(store)
    assert len(name) <= 100
    found = await MemoryFacade(store).read(
        MemoryQuery(user_id="ann", session_id="s", agent_id="a", scopes=[MemoryScope.DIALOG], query="tea")
    )
    assert [item.payload["speaker"] for item in found] == [name]
