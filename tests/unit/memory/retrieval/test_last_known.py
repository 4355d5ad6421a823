"""What was last read: kept for one owner, bounded, told to be old, and gone with what is forgotten."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope, MemoryWriteEvent
from react_mem.memory.retrieval import last_known

WHO = {"session_id": "monday", "agent_id": "assistant"}
FACTS = [MemoryScope.SEMANTIC]


class Failing(InMemoryStore):
    down = False

    async def abatch(self, ops: Any) -> Any:
        if self.down:
            raise OSError("no route to host")
        return await super().abatch(ops)


@pytest.fixture
def store() -> Failing:
    return Failing()


@pytest.fixture
async def memory(store: Failing) -> MemoryFacade:
    memory = MemoryFacade(store)
    for user in ("ann", "bob"):
        data = {"text": f"{user} drinks tea"}
        await memory.write(MemoryWriteEvent(user_id=user, **WHO, scope=MemoryScope.SEMANTIC, data=data))
    return memory


def query(user: str = "ann", scopes: Sequence[MemoryScope] = tuple(FACTS), **fields: Any) -> MemoryQuery:
    return MemoryQuery(user_id=user, **{**WHO, "query": "tea", **fields}, scopes=list(scopes))


def texts(results: MemoryResults | None) -> list[str]:
    assert results is not None
    return [item.payload["text"] for item in results]


async def test_what_was_read_stands_in_and_says_that_it_is_old(memory: MemoryFacade, store: Failing) -> None:
    assert (await memory.read(query())).missing == {}
    store.down = True
    with pytest.raises(OSError, match="no route"):
        await memory.read(query())
    known = memory.last_known(query(query="something else", session_id="tuesday"))
    assert texts(known) == ["ann drinks tea"]
    assert known is not None
    assert list(known.missing) == ["database"]
    assert "seconds ago" in known.missing["database"]


async def test_nothing_read_is_nothing_known(memory: MemoryFacade) -> None:
    assert memory.last_known(query()) is None
    await memory.read(query())
    assert MemoryFacade(InMemoryStore()).last_known(query()) is None


@pytest.mark.parametrize(
    "other",
    [
        query("bob"),
        query(agent_id="another"),
        query(scopes=[MemoryScope.DIALOG]),
        query(scopes=[*FACTS, MemoryScope.DIALOG]),
    ],
)
async def test_nobody_gets_what_another_read(memory: MemoryFacade, other: MemoryQuery) -> None:
    await memory.read(query())
    assert memory.last_known(other) is None


async def test_it_is_the_last_that_is_known(memory: MemoryFacade) -> None:
    await memory.read(query())
    event = MemoryWriteEvent(user_id="ann", **WHO, scope=MemoryScope.SEMANTIC, data={"text": "ann drinks coffee"})
    await memory.write(event)
    await memory.read(query())
    assert sorted(texts(memory.last_known(query()))) == ["ann drinks coffee", "ann drinks tea"]


@pytest.mark.parametrize("how", ["forget_user", "delete_session"])
async def test_what_is_forgotten_is_not_known(memory: MemoryFacade, how: str) -> None:
    await memory.read(query())
    await memory.read(query("bob"))
    await (memory.forget_user("ann") if how == "forget_user" else memory.delete_session("ann", "monday"))
    assert memory.last_known(query()) is None
    assert texts(memory.last_known(query("bob"))) == ["bob drinks tea"]


async def test_what_a_process_keeps_is_bounded(memory: MemoryFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_known, "_MAX_READS", 3)
    for agent in ("0", "1", "2", "0", "3"):
        await memory.read(query(agent_id=agent))
    assert [agent for agent in "0123" if memory.last_known(query(agent_id=agent))] == ["0", "2", "3"]


async def test_what_is_forgotten_while_it_is_read_is_not_kept() -> None:
    store = InMemoryStore()
    began = time.monotonic()
    last_known.forget(store, query().user_id)
    last_known.keep(store, query(), MemoryResults(), since=began)
    assert last_known.recall(store, query()) is None


async def test_the_last_turns_of_another_conversation_are_not_known_here() -> None:
    memory = MemoryFacade(InMemoryStore())
    await memory.dialog.append("ann", "monday", "user", "tea")
    dialog = [MemoryScope.DIALOG]
    for asked, elsewhere in ((None, []), ("tea", ["tea"])):
        await memory.read(query(scopes=dialog, query=asked))
        assert texts(memory.last_known(query(scopes=dialog, query=asked))) == ["tea"]
        assert texts(memory.last_known(query(scopes=dialog, query=asked, session_id="friday"))) == elsewhere
        assert texts(memory.last_known(query(scopes=dialog, query=None, session_id="friday"))) == []
