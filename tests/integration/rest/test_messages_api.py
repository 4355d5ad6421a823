"""Messages that a client of another framework tells: each stored once, as turns of its user, however they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.errors import MemoryFull
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.namespaces import work_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.work.items import Work
from react_mem.memory.write.lifecycle import AgentMemory
from react_mem.memory.write.remembering import ClientMessage, store_told
from react_mem.memory.write.turns import Turns
from tests.integration.rest.conftest import ANN
from tests.support.rest import MEMORIES, client_as

THREAD = "chuyến đi 🚲"

TALK = [
    {"role": "user", "content": "Tôi sống ở Huế 🏯."},
    {"role": "assistant", "content": "Huế đẹp lắm! You love jazz."},
    {"role": "user", "content": "I have a red boat."},
    {"role": "assistant", "content": "A boat, how nice."},
    {"role": "user", "content": "Is it big?"},
]


def path_of(thread: str = THREAD) -> str:
    return f"/memory/v1/conversations/{quote(thread, safe='')}"


async def tell(client: httpx.AsyncClient, messages: Sequence[Any], thread: str = THREAD, **more: Any) -> httpx.Response:
    return await client.post(f"{path_of(thread)}/messages", json={"messages": list(messages), **more})


async def outcomes(client: httpx.AsyncClient, messages: Sequence[Any], thread: str = THREAD) -> list[str]:
    answer = await tell(client, messages, thread)
    assert answer.status_code in (200, 202), answer.text
    told = [one["outcome"] for one in answer.json()["messages"]]
    assert answer.status_code == (202 if "new" in told else 200)
    return told


async def shown(client: httpx.AsyncClient, thread: str = THREAD) -> list[dict[str, Any]]:
    answer = await client.get(path_of(thread))
    if answer.status_code == 404:
        return []
    items: list[dict[str, Any]] = answer.json()["messages"]["items"]
    return items


async def texts(client: httpx.AsyncClient, thread: str = THREAD) -> list[str]:
    return [one["text"] for one in await shown(client, thread)]


async def exported(memory: MemoryFacade, user: str) -> list[str]:
    return [line async for line in memory.export_user(user)]


def named(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "id": f"m{place}"} for place, one in enumerate(messages)]


def said(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [one["content"] for one in messages]


async def works(memory: MemoryFacade) -> set[str]:
    """Return the kinds of work that wait for a worker."""
    found = await memory.store.asearch(work_namespace(ANN))
    return {Work.from_value(item.value).kind for item in found}


def turns_of(memory: MemoryFacade, user: str, thread: str = THREAD) -> Turns:
    return AgentMemory("assistant", MemoryPolicy()).turns(memory.store, Identity(user, thread))


@st.composite
def splits(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Return calls that tell of seven messages: from where on, and up to which."""
    calls: list[tuple[int, int]] = []
    told = 0
    while told < 7:
        if calls and draw(st.booleans()):
            calls.append(draw(st.sampled_from([one for one in calls if one[1] - one[0] > 1 or one[1] == told])))
        begin = draw(st.integers(0, told))
        calls.append((begin, draw(st.integers(told + 1, 7))))
        told = calls[-1][1]
    return calls


async def kept(store: BaseStore) -> tuple[list[Any], set[tuple[str, ...]]]:
    """Return the messages as they are stored, without their times, and what the notes of turns name."""
    memory = MemoryFacade(store)
    values = await memory.dialog.every(ANN, session_id=THREAD, kind="message")
    names = ("turn", "id", "role", "content", "text", "after", "agent_id", "origin")
    messages = sorted(tuple(value.get(name) for name in names) for value in values)
    return messages, {tuple(value["source_ids"]) for value in await memory.pending(ANN)}


class TestAConversation:
    async def test_it_is_stored_shown_and_drawn_from_behind_the_answer(
        self, ann: httpx.AsyncClient, memory: MemoryFacade
    ) -> None:
        answer = await tell(ann, TALK)
        assert answer.status_code == 202
        told = answer.json()
        assert [one["outcome"] for one in told["messages"]] == ["new"] * 5
        assert told["waiting"] == 3
        messages = await shown(ann)
        assert [one["id"] for one in messages] == [one["id"] for one in told["messages"]]
        assert [(one["role"], one["text"]) for one in messages] == [(one["role"], one["content"]) for one in TALK]
        assert [one["turn"] for one in messages] == list(range(5))
        facts = {"kind": "fact"}
        assert (await ann.get(MEMORIES, params=facts)).json()["total"] == 0
        assert await works(memory) == {"extract", "maintain"}
        await turns_of(memory, ANN).extract()
        found = [one["text"] for one in (await ann.get(MEMORIES, params=facts)).json()["items"]]
        # what the assistant says of the user teaches nothing
        assert sorted(found) == ["I have a red boat.", "Tôi sống ở Huế 🏯."]
        assert (await tell(ann, TALK)).json()["waiting"] == 0

    @pytest.mark.parametrize("ids", [False, True])
    async def test_the_whole_told_again_stores_what_is_new(self, ids: bool, ann: httpx.AsyncClient) -> None:
        talk = named(TALK) if ids else TALK
        for end in range(1, 6):
            assert await outcomes(ann, talk[:end]) == ["known"] * (end - 1) + ["new"]
            assert await outcomes(ann, talk[:end]) == ["known"] * end
        assert await texts(ann) == said(TALK)

    async def test_a_time_is_when_it_was_said(self, ann: httpx.AsyncClient) -> None:
        at = "2024-03-03T20:00:00+07:00"
        assert await outcomes(ann, [{**TALK[0], "created_at": at}]) == ["new"]
        assert [datetime.fromisoformat(one["said_at"]) for one in await shown(ann)] == [datetime.fromisoformat(at)]


class TestStoredOnce:
    async def test_an_id_with_other_words_is_refused_and_nothing_stored(
        self, ann: httpx.AsyncClient, memory: MemoryFacade
    ) -> None:
        await outcomes(ann, named(TALK[:2]))
        before = await exported(memory, ANN)
        new = {"role": "user", "content": "I am new here.", "id": "m9"}
        for wrong in ({**TALK[2], "id": "m0"}, {**TALK[0], "role": "assistant", "id": "m0"}, {**TALK[3], "id": "m9"}):
            answer = await tell(ann, [new, wrong])
            assert (answer.status_code, answer.json()["detail"][:14]) == (409, "messages.1.id:")
            assert await exported(memory, ANN) == before
        assert await outcomes(ann, [new, new]) == ["new", "known"]

    async def test_the_same_words_are_said_again(self, ann: httpx.AsyncClient) -> None:
        yes = {"role": "user", "content": "yes"}
        assert await outcomes(ann, [yes, TALK[1]]) == ["new", "new"]
        assert await outcomes(ann, [yes]) == ["new"]
        assert await outcomes(ann, [yes, TALK[3]]) == ["known", "new"]
        assert await outcomes(ann, [{**yes, "id": "a"}, {**yes, "id": "b"}]) == ["new", "new"]
        assert await texts(ann) == ["yes", TALK[1]["content"], "yes", TALK[3]["content"], "yes", "yes"]

    async def test_told_at_once_it_is_stored_once(self, ann: httpx.AsyncClient) -> None:
        told = await asyncio.gather(*(outcomes(ann, TALK[:end]) for end in (2, 5, 4, 5, 3)))
        assert sum(one.count("new") for one in told) == 5
        assert await texts(ann) == said(TALK)

    @pytest.mark.parametrize("ids", [False, True])
    async def test_what_is_forgotten_does_not_come_back(self, ids: bool, ann: httpx.AsyncClient) -> None:
        talk = named(TALK) if ids else TALK
        await outcomes(ann, talk[:4])
        first = (await shown(ann))[0]
        assert (await ann.delete(f"{MEMORIES}/{first['id']}")).status_code == 200
        assert await outcomes(ann, talk) == ["forgotten", "known", "known", "known", "new"]
        last = (await shown(ann))[-1]
        assert (await ann.delete(f"{MEMORIES}/{last['id']}")).status_code == 200
        assert await outcomes(ann, talk) == ["forgotten", "known", "known", "known", "forgotten"]
        assert await outcomes(ann, [{"role": "user", "content": "And now?", "id": "x" if ids else ""}]) == ["new"]
        more = [*talk, {"role": "assistant", "content": "Hm."}, {"role": "user", "content": "And now?", "id": "x"}]
        assert "Is it big?" not in await texts(ann)
        if ids:
            assert await outcomes(ann, more) == ["forgotten", *["known"] * 3, "forgotten", "new", "known"]


class TestHoweverItIsTold:
    @given(calls=splits(), ids=st.booleans())
    @settings(max_examples=12, deadline=None)
    async def test_any_split_with_repeats_gives_the_same_records(self, calls: list[tuple[int, int]], ids: bool) -> None:
        long = [
            {"role": role, "content": f"I say {place}. Tôi {place} 🙂."}
            for place, role in enumerate(["user", "assistant", "user", "user", "assistant", "assistant", "user"])
        ]
        talk = named(long) if ids else long
        expected = InMemoryStore()
        async with client_as(expected, ANN) as client:
            for one in talk:
                await outcomes(client, [one])
        store = InMemoryStore()
        async with client_as(store, ANN) as client:
            for begin, end in calls:
                await outcomes(client, talk[begin:end])
            assert await outcomes(client, talk) == ["known"] * len(talk)
        assert await kept(store) == await kept(expected)

    async def test_what_a_crash_leaves_out_is_stored_when_it_is_told_again(
        self, ann: httpx.AsyncClient, memory: MemoryFacade, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = InMemoryStore()
        async with client_as(whole, ANN) as client:
            await outcomes(client, TALK)
        close = Turns.close

        async def crashing(turns: Turns, thread: Sequence[Any], since: str | None, **more: Any) -> None:
            if thread[-1].content == TALK[3]["content"]:
                # the question is durable, and its answer is not
                await turns.open(thread[:-1], since)
                raise ConnectionError(TALK[3]["content"])
            await close(turns, thread, since, **more)

        monkeypatch.setattr(Turns, "close", crashing)
        async with client_as(memory.store, ANN) as client:
            failed = await tell(client, TALK)
            assert failed.status_code == 500
            assert "boat" not in failed.text
            assert await texts(client) == said(TALK[:3])
            monkeypatch.undo()
            assert await outcomes(client, TALK) == ["known"] * 3 + ["new"] * 2
        assert await kept(memory.store) == await kept(whole)

    async def test_without_room_nothing_is_stored_but_answers(self, store: BaseStore) -> None:
        policy = MemoryPolicy.model_validate({"quotas": {"memories": 4}})
        turns = AgentMemory("assistant", policy).turns(store, Identity(ANN, THREAD))
        told = [ClientMessage("user" if one["role"] == "user" else "assistant", one["content"]) for one in TALK]
        with pytest.raises(MemoryFull):
            await store_told(turns, told)
        assert await kept(store) == ([], set())
        assert [one.outcome for one in await store_told(turns, told[:3])] == ["new"] * 3
        # of which the question is there
        assert [one.outcome for one in await store_told(turns, told[:4])] == ["known"] * 3 + ["new"]
        with pytest.raises(MemoryFull):
            await store_told(turns, told)


class TestRefused:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"content": ""},
            {"content": "x" * 20_001},
            {"content": [{"type": "text", "text": "I like tea."}]},
            {"role": "system"},
            {"id": "x" * 513},
            {"created_at": (datetime.now(UTC) + timedelta(hours=1)).isoformat()},
            {"created_at": "1969-12-31T00:00:00Z"},
            {"created_at": "yesterday"},
            {"speaker": "Ann"},
        ],
    )
    async def test_of_a_wrong_message_the_field_is_named(
        self, wrong: dict[str, Any], ann: httpx.AsyncClient, memory: MemoryFacade
    ) -> None:
        before = await exported(memory, ANN)
        answer = await tell(ann, [TALK[0], {**TALK[1], **wrong}])
        assert answer.status_code == 422, answer.text
        [name] = wrong
        where = [one["loc"] for one in answer.json()["detail"]]
        assert where == [["body", "messages", 1, name]]
        assert await exported(memory, ANN) == before

    async def test_too_much_at_once_is_refused(self, ann: httpx.AsyncClient, memory: MemoryFacade) -> None:
        answer = await tell(ann, [{"role": "user", "content": "x" * 10_000}] * 100)
        assert (answer.status_code, answer.json()["detail"]) == (
            413,
            "the request is longer than 256,000 bytes; send less at once",
        )
        assert await shown(ann) == []

    async def test_an_agent_that_remembers_nothing_is_refused(self, ann: httpx.AsyncClient) -> None:
        for agent in ("plain", "nobody"):
            answer = await tell(ann, TALK, agent=agent)
            assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "agent"])
