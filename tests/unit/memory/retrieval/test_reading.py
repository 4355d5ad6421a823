"""A read through the facade on a store that compares vectors only."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryResults, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.databases import WordEmbeddings

WHO = {"session_id": "tuesday", "agent_id": "assistant"}
DIALOG = MemoryScope.DIALOG
EVERYTHING = [MemoryScope.PROFILE, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.PROCEDURAL, DIALOG]


@pytest.fixture
async def memory() -> MemoryFacade:
    memory = MemoryFacade(InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]}))
    for scope, data in [
        (MemoryScope.SEMANTIC, {"text": "User drinks green tea"}),
        (MemoryScope.SEMANTIC, {"text": "User has a cat"}),
        (MemoryScope.EPISODIC, {"goal": "brew green tea"}),
        (MemoryScope.PROCEDURAL, {"use_when": "green tea is brewed"}),
        (MemoryScope.PROFILE, {"fields": {"name": "Lan"}}),
    ]:
        await memory.write(MemoryWriteEvent(user_id="ann", **WHO, scope=scope, data=data))
    said = [HumanMessage("Which green tea is best?", id="1"), AIMessage("Sencha, they say.", id="2")]
    await memory.dialog.append("ann", "monday", said, agent_id="assistant")
    return memory


async def read(memory: MemoryFacade, text: str | None, scopes: list[MemoryScope], **extra: Any) -> MemoryResults:
    return await memory.read(MemoryQuery(user_id="ann", **WHO, scopes=scopes, query=text, extra=extra))


@pytest.mark.parametrize("scopes", [EVERYTHING, EVERYTHING[::-1], [DIALOG, *EVERYTHING, DIALOG]])
async def test_results_stand_in_the_order_of_the_scopes(memory: MemoryFacade, scopes: list[MemoryScope]) -> None:
    results = await read(memory, "green tea", scopes)
    assert list(dict.fromkeys(item.scope for item in results)) == list(dict.fromkeys(scopes))
    assert len({item.id for item in results}) == len(results)


async def test_the_most_relevant_of_a_scope_comes_first(memory: MemoryFacade) -> None:
    results = await read(memory, "green tea drinks", [MemoryScope.SEMANTIC])
    first, *_ = results
    assert results.missing == {}, "vectors are all there is"
    assert first.payload["text"] == "User drinks green tea"
    assert first.score is not None
    assert [fragment.content for fragment in first.fragments] == ["User drinks green tea"]


@pytest.mark.parametrize("blank", ["", "\n\u3000"])
async def test_a_blank_query_is_none(memory: MemoryFacade, blank: str) -> None:
    latest, asked = await read(memory, None, EVERYTHING), await read(memory, blank, EVERYTHING)
    assert [item.id for item in asked] == [item.id for item in latest]
    # what was said in another conversation is only found
    assert {item.source for item in asked} == {"profile", "fact", "episode", "skill"}


@pytest.mark.parametrize("now", ["2024-13-45", 7, "9" * 10_000])
async def test_a_time_that_is_none_is_refused(memory: MemoryFacade, now: Any) -> None:
    with pytest.raises(ValueError, match=r"extra\['now'\] is not an ISO 8601 time") as caught:
        await read(memory, "green tea", EVERYTHING, now=now)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("now", ["2024-05-15T10:00:00+07:00", datetime(2024, 5, 15), None, ""])
async def test_a_time_of_asking_may_be_told(memory: MemoryFacade, now: Any) -> None:
    assert await read(memory, "green tea last week", EVERYTHING, now=now)


async def test_what_the_caller_has_is_left_out(memory: MemoryFacade) -> None:
    for text in ("green tea", None):
        both = await read(memory, text, [MemoryScope.SEMANTIC])
        assert len(both) == 2
        [other] = await read(memory, text, [MemoryScope.SEMANTIC], seen=[both[0].id])
        assert other.id == both[1].id


async def test_a_scope_that_is_off_has_no_results(memory: MemoryFacade) -> None:
    off = MemoryFacade(memory.store, MemoryPolicy(recall={"semantic": False, "dialog": False}))
    results = await read(off, "green tea", EVERYTHING)
    assert {item.scope for item in results} == set(EVERYTHING) - {MemoryScope.SEMANTIC, MemoryScope.DIALOG}
    assert await read(off, "green tea", [MemoryScope.DIALOG]) == []


async def test_no_more_than_wanted_and_repetitions_make_room() -> None:
    memory = MemoryFacade(
        InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]}),
        MemoryPolicy(recall={"max_memories": 2}),
    )
    for text in ("User drinks green tea", "user drinks green tea.", "User drinks green tea!", "User has a cat"):
        event = MemoryWriteEvent(user_id="ann", **WHO, scope=MemoryScope.SEMANTIC, data={"text": text})
        await memory.write(event)
    found = await read(memory, "User drinks green tea", [MemoryScope.SEMANTIC])
    assert len(found) == 2
    assert "User has a cat" in [item.payload["text"] for item in found]
