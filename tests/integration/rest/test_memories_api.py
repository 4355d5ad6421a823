"""The REST interface over the whole app: list, tell, show, correct, delete and search, each user their own."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from starlette.authentication import UnauthenticatedUser

from react_mem.graphs.memory_api.callers_memory import MAX_MEMORY_BYTES
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.retrieval.results import ASKS_STANDING, INSTRUCTION
from tests.integration.rest.conftest import ANN
from tests.support.rest import MEMORIES, client_as

SEARCH = "/memory/v1/search"


async def told(client: httpx.AsyncClient, text: str, **more: Any) -> dict[str, Any]:
    answer = await client.post(MEMORIES, json={"text": text, **more})
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()["memory"]
    return memory


async def exported(memory: MemoryFacade, user: str) -> list[str]:
    return [line async for line in memory.export_user(user)]


async def instructions(memory: MemoryFacade) -> list[str]:
    """Return what stands in a prompt as to be done from now on."""
    query = MemoryQuery(
        user_id=ANN,
        session_id="monday",
        agent_id="assistant",
        scopes=[MemoryScope.DIALOG],
        query="What is there for dinner?",
        extra={ASKS_STANDING: True},
    )
    return [str(item.payload["text"]) for item in await memory.read(query) if item.source == INSTRUCTION]


class TestLifeOfAMemory:
    async def test_it_is_told_listed_shown_corrected_and_forgotten(self, ann: httpx.AsyncClient) -> None:
        first = await ann.post(MEMORIES, json={"text": "Tôi sống ở Huế 🏯."})
        assert (first.status_code, first.json()["outcome"]) == (201, "new")
        home = first.json()["memory"]
        again = await ann.post(MEMORIES, json={"text": "tôi sống ở huế 🏯"})
        assert (again.status_code, again.json()["outcome"]) == (200, "known")
        assert again.json()["memory"]["id"] == home["id"]
        assert first.headers["location"] == f"{MEMORIES}/{home['id']}"

        page = (await ann.get(MEMORIES, params={"kind": "fact"})).raise_for_status().json()
        assert [item["text"] for item in page["items"]] == ["Tôi sống ở Huế 🏯."]
        assert page["total"] == 1

        shown = await ann.get(first.headers["location"])
        assert shown.json()["provenance"][0]["quote"] == "Tôi sống ở Huế 🏯."
        assert shown.headers["etag"] == f'"{home["revision"]}"' == first.headers["etag"]

        corrected = await ann.patch(
            f"{MEMORIES}/{home['id']}", json={"text": "我住在北京。"}, headers={"if-match": shown.headers["etag"]}
        )
        assert corrected.status_code == 200, corrected.text
        now_there = corrected.json()
        assert (now_there["text"], now_there["origin"], now_there["current"]) == ("我住在北京。", "user", True)
        history = (await ann.get(f"{MEMORIES}/{now_there['id']}")).json()["history"]
        assert [(one["text"], one["why"]) for one in history] == [
            ("Tôi sống ở Huế 🏯.", "replaced"),
            ("我住在北京。", "believed"),
        ]
        past = (await ann.get(MEMORIES, params={"state": "past"})).json()
        assert [item["id"] for item in past["items"]] == [home["id"]]

        gone = await ann.delete(f"{MEMORIES}/{now_there['id']}", headers={"if-match": corrected.headers["etag"]})
        assert (gone.status_code, gone.json()["problems"]) == (200, [])
        assert now_there["id"] in gone.json()["receipt"]["removed"]["fact"]
        assert (await ann.get(f"{MEMORIES}/{now_there['id']}")).status_code == 404
        assert (await ann.delete(f"{MEMORIES}/{now_there['id']}")).status_code == 404

    async def test_two_people_of_whom_the_same_is_told_are_told_apart(self, ann: httpx.AsyncClient) -> None:
        of = {name: await told(ann, "She lives in Hue.", about=name) for name in ("Lan", "Mai")}
        assert [memory["about"] for memory in of.values()] == ["Lan", "Mai"]
        me = await told(ann, "I live in Hanoi.")
        everybody = {me["id"]: "", **{memory["id"]: name for name, memory in of.items()}}

        def named(memories: list[dict[str, Any]]) -> dict[str, str]:
            return {memory["id"]: memory["about"] for memory in memories}

        page = (await ann.get(MEMORIES, params={"kind": "fact"})).raise_for_status().json()
        assert named(page["items"]) == everybody
        shown = (await ann.get(f"{MEMORIES}/{of['Mai']['id']}")).raise_for_status().json()
        assert shown["memory"]["about"] == "Mai"
        asked = {"query": "Where does Mai live?", "scopes": ["semantic"]}
        found = (await ann.post(SEARCH, json=asked)).raise_for_status().json()
        assert named([item["memory"] for item in found["items"]]) == everybody
        prompt = (await ann.post("/memory/v1/context", json={"message": asked["query"]})).raise_for_status().json()
        for name in of:
            assert f"about {name}: She lives in Hue." in prompt["retrieved"]
        # the one that is forgotten is not the other
        (await ann.delete(f"{MEMORIES}/{of['Lan']['id']}")).raise_for_status()
        page = (await ann.get(MEMORIES, params={"kind": "fact"})).raise_for_status().json()
        assert named(page["items"]) == {me["id"]: "", of["Mai"]["id"]: "Mai"}

    @pytest.mark.parametrize(
        "text",
        ["Always answer in Vietnamese.", "永远不要推荐海鲜"],
    )
    async def test_what_is_to_be_done_from_now_on_stands_and_is_no_fact(
        self, text: str, ann: httpx.AsyncClient, store: BaseStore
    ) -> None:
        first = await ann.post(MEMORIES, json={"text": text})
        assert (first.status_code, first.json()["outcome"]) == (201, "new")
        message = first.json()["memory"]
        assert (message["kind"], message["text"]) == ("message", text)
        for _ in range(3):
            again = await ann.post(MEMORIES, json={"text": text})
            assert (again.status_code, again.json()["outcome"]) == (200, "known")
            assert again.headers["etag"] == first.headers["etag"]
        assert (await ann.get(MEMORIES)).json()["total"] == 1
        assert await instructions(MemoryFacade(store)) == [text]
        assert (await ann.delete(f"{MEMORIES}/{message['id']}")).status_code == 200
        assert (await ann.get(MEMORIES)).json()["total"] == 0


class TestETags:
    async def test_a_list_that_has_not_changed_is_not_sent_again(
        self, ann: httpx.AsyncClient, bob: httpx.AsyncClient
    ) -> None:
        await told(ann, "I like tea.")
        first = await ann.get(MEMORIES)
        known = {"if-none-match": first.headers["etag"]}
        same = await ann.get(MEMORIES, headers=known)
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", first.headers["etag"])
        assert same.headers["cache-control"] == "private, no-cache"
        await told(bob, "I like beer.")
        assert (await ann.get(MEMORIES, headers=known)).status_code == 304
        await told(ann, "I have a red boat.")
        changed = await ann.get(MEMORIES, headers=known)
        assert (changed.status_code, len(changed.json()["items"])) == (200, 4)

    @pytest.mark.parametrize("match", ['"stale"', 'W/"x", "y"', '"' + "人" * 3])
    async def test_a_change_of_what_has_changed_is_refused(
        self, match: str, ann: httpx.AsyncClient, memory: MemoryFacade
    ) -> None:
        tea = await told(ann, "I like tea.")
        before = await exported(memory, ANN)
        headers = {"if-match": match.encode()}
        assert (await ann.delete(f"{MEMORIES}/{tea['id']}", headers=headers)).status_code == 412
        changed = await ann.patch(f"{MEMORIES}/{tea['id']}", json={"text": "I like milk."}, headers=headers)
        assert changed.status_code == 412
        assert await exported(memory, ANN) == before
        any_state = await ann.delete(f"{MEMORIES}/{tea['id']}", headers={"if-match": "*"})
        assert any_state.status_code == 200

    async def test_of_changes_at_once_one_wins(self, ann: httpx.AsyncClient) -> None:
        tea = await told(ann, "I like tea.")
        headers = {"if-match": f'"{tea["revision"]}"'}
        drinks = ("milk", "juice", "water", "cola")
        answers = await asyncio.gather(
            *(
                ann.patch(f"{MEMORIES}/{tea['id']}", json={"text": f"I like {drink}."}, headers=headers)
                for drink in drinks
            )
        )
        codes = sorted(answer.status_code for answer in answers)
        # who comes too late finds that the fact is not believed any more, or that it has changed
        assert codes[0] == 200
        assert set(codes[1:]) <= {412, 422}
        page = (await ann.get(MEMORIES, params={"kind": "fact"})).json()
        assert len(page["items"]) == 1


class TestOtherPeople:
    async def test_what_is_another_users_is_not_there_and_stays(
        self, ann: httpx.AsyncClient, bob: httpx.AsyncClient, memory: MemoryFacade
    ) -> None:
        tea = await told(ann, "I like tea.")
        before = await exported(memory, ANN)
        where = f"{MEMORIES}/{tea['id']}"
        answers = [
            await bob.get(where),
            await bob.get(where, params={"user_id": ANN}),
            await bob.patch(where, json={"text": "I like milk."}),
            await bob.patch(where, json={"text": "I like milk.", "user_id": ANN}),
            await bob.delete(where),
            await bob.delete(where, params={"user_id": ANN}),
            await bob.delete(where, headers={"if-match": f'"{tea["revision"]}"'}),
        ]
        nothing = await bob.get(f"{MEMORIES}/no-such-memory")
        assert {(answer.status_code, answer.text) for answer in answers} == {(404, nothing.text)}
        listed = await bob.get(MEMORIES, params={"user_id": ANN, "state": "all"})
        assert listed.json()["items"] == []
        found = await bob.post(SEARCH, json={"query": "tea", "user_id": ANN})
        assert found.json()["items"] == []
        assert await exported(memory, ANN) == before

    async def test_without_authentication_the_user_who_is_named_counts(self, store: BaseStore) -> None:
        async with client_as(store, UnauthenticatedUser()) as anybody:
            await told(anybody, "I like tea.", user_id="ann")
            mine = (await anybody.get(MEMORIES, params={"user_id": "ann"})).json()
            assert mine["total"] == 2
            assert (await anybody.get(MEMORIES, params={"user_id": "bob"})).json()["total"] == 0
            odd = await anybody.get(MEMORIES, params={"user_id": "a\x00b"})
            assert odd.status_code == 422


class TestBadRequests:
    @pytest.mark.parametrize(
        "params",
        [{"limit": 201}, {"cursor": "garbage"}, {"state": "future"}, {"kind": ["x"] * 100}],
        ids=str,
    )
    async def test_a_list_is_refused_with_the_reason(self, params: dict[str, Any]) -> None:
        async with client_as(InMemoryStore(), ANN) as ann:
            answer = await ann.get(MEMORIES, params=params)
        assert answer.status_code == 422
        assert answer.json()["detail"]
        assert "garbage" not in answer.text

    @pytest.mark.parametrize("odd", ["a\x00b", "人" * 100, "../../x"])
    async def test_odd_ids_and_conversations_are_nothing(self, odd: str, ann: httpx.AsyncClient) -> None:
        listed = await ann.get(MEMORIES, params={"session_id": odd, "kind": odd[:50]})
        assert (listed.status_code, listed.json()["items"]) == (200, [])
        assert (await ann.get(f"{MEMORIES}/{quote(odd, safe='')}")).status_code == 404

    @pytest.mark.parametrize("text", ["Where do I live?", "Please tell me a joke.", "\x00"])
    async def test_what_states_nothing_is_neither_told_nor_a_correction(
        self, text: str, ann: httpx.AsyncClient
    ) -> None:
        tea = await told(ann, "I like tea.")
        answers = [
            await ann.post(MEMORIES, json={"text": text}),
            await ann.patch(f"{MEMORIES}/{tea['id']}", json={"text": text}),
        ]
        assert [answer.status_code for answer in answers] == [422, 422]
        assert answers[0].json()["detail"] == answers[1].json()["detail"]
        assert (await ann.get(f"{MEMORIES}/{tea['id']}")).json()["memory"]["revision"] == tea["revision"]

    async def test_a_long_body_is_refused(self) -> None:
        body = json.dumps({"text": "x" * 1_000_000})
        async with client_as(InMemoryStore(), ANN) as ann:
            sent = {"content": body, "headers": {"content-type": "application/json"}}
            answers = [
                await ann.post(MEMORIES, **sent),
                await ann.post(SEARCH, **sent),
                await ann.patch(f"{MEMORIES}/x", **sent),
            ]
        assert [answer.status_code for answer in answers] == [413] * 3
        assert f"{MAX_MEMORY_BYTES:,}" in answers[0].json()["detail"]

    async def test_without_a_store_it_says_so(self) -> None:
        async with client_as(None, ANN) as ann:
            answers = [
                await ann.get(MEMORIES),
                await ann.post(MEMORIES, json={"text": "I like tea."}),
                await ann.get(f"{MEMORIES}/x"),
                await ann.patch(f"{MEMORIES}/x", json={"text": "I like tea."}),
                await ann.delete(f"{MEMORIES}/x"),
                await ann.post(SEARCH, json={"query": "tea"}),
            ]
        assert {answer.status_code for answer in answers} == {503}

    async def test_what_is_held_is_not_deleted(self, ann: httpx.AsyncClient, memory: MemoryFacade) -> None:
        tea = await told(ann, "I like tea.")
        await memory.hold(ANN, "case-7")
        before = await exported(memory, ANN)
        answer = await ann.delete(f"{MEMORIES}/{tea['id']}")
        assert answer.status_code == 423
        assert "case-7" in answer.json()["detail"]
        assert await exported(memory, ANN) == before

    async def test_answers_are_kept_by_nobody(self, ann: httpx.AsyncClient) -> None:
        tea = await told(ann, "I like tea.")
        assert (await ann.get(f"{MEMORIES}/{tea['id']}")).headers["cache-control"] == "no-store"
