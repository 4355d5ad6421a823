"""How the Python client sends and reads, on a server that the test plays."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from react_mem_client import MemoryApiError, MemoryClient, ServerEvent, Token
from tests.unit.clients import answers

Served = Callable[[httpx.Request], httpx.Response]


def client(serve: Served, **more: Any) -> MemoryClient:
    http = httpx.AsyncClient(transport=httpx.MockTransport(serve))
    return MemoryClient("http://127.0.0.1:2024/below/", http=http, **more)


def refusing(**answer: Any) -> MemoryClient:
    return client(lambda request: httpx.Response(**answer))


@pytest.mark.parametrize("kind", ["words", "function", "async function"])
async def test_each_request_has_the_token(kind: str) -> None:
    heard: list[str | None] = []
    given = iter(["quagga-1", "quagga-2"])

    def serve(request: httpx.Request) -> httpx.Response:
        heard.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"items": []})

    async def later() -> str:
        return next(given)

    tokens: dict[str, Token] = {
        "words": "quagga-1",
        "function": lambda: next(given),
        "async function": later,
    }
    memory = client(serve, token=tokens[kind])
    await memory.list_skills()
    await memory.list_skills()
    renewed = "Bearer quagga-1" if kind == "words" else "Bearer quagga-2"
    assert heard == ["Bearer quagga-1", renewed]


async def test_what_is_not_given_is_left_to_the_server() -> None:
    heard: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        heard.append(request)
        return httpx.Response(200, json={"items": [], "missing": {}})

    memory = client(serve, user_id="ann")
    await memory.search_memories("tea", as_of=datetime(2026, 1, 2, tzinfo=UTC), scopes=("semantic",))
    await memory.list_skills()
    assert json.loads(heard[0].content) == {
        "query": "tea",
        "as_of": "2026-01-02T00:00:00Z",
        "scopes": ["semantic"],
    }
    assert [str(one.url) for one in heard] == [
        f"http://127.0.0.1:2024/below/memory/v1/{path}?user_id=ann" for path in ("search", "skills")
    ]


@pytest.mark.parametrize(("given", "sent"), [('"r1"', '"r1"'), ("r1", '"r1"'), ("*", "*"), (None, None)], ids=str)
async def test_a_revision_is_sent_as_an_etag(given: str | None, sent: str | None) -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        assert request.headers.get("if-match") == sent
        return httpx.Response(200, json=answers.FORGOTTEN)

    await client(serve).forget_memory_by_id("m", if_match=given)


async def test_an_id_is_one_part_of_the_path() -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        assert request.url.raw_path == b"/below/memory/v1/memories/a%2F..%3Fb%20%F0%9F%8F%AF"
        return httpx.Response(200, json=answers.FORGOTTEN)

    memory = client(serve)
    await memory.forget_memory_by_id("a/..?b 🏯")
    for odd in ("", ".", ".."):
        with pytest.raises(ValueError, match="is no id"):
            await memory.forget_memory_by_id(odd)


async def test_an_error_has_status_title_and_detail() -> None:
    held = refusing(status_code=423, json={"detail": "under a hold"})
    with pytest.raises(MemoryApiError, match=r"^423 Locked: under a hold$") as caught:
        await held.show_profile()
    assert (caught.value.status, caught.value.title, caught.value.detail) == (423, "Locked", "under a hold")
    assert caught.value.retry_after is None
    problem = {"title": "Held", "detail": [{"loc": ["body", "text"], "msg": "is empty", "type": "value_error"}]}
    with pytest.raises(MemoryApiError, match=r"^422 Held: body\.text: is empty$"):
        await refusing(status_code=422, json=problem).show_profile()
    with pytest.raises(MemoryApiError) as caught:
        await refusing(status_code=503, json={"detail": ""}, headers={"retry-after": "7"}).show_profile()
    assert caught.value.retry_after == 7


@pytest.mark.parametrize(
    "answer",
    [
        {"status_code": 502, "html": "<h1>bad gateway</h1>"},
        {"status_code": 500, "json": ["no", "problem"]},
        {"status_code": 302, "headers": {"location": "http://127.0.0.1:1/elsewhere"}},
        {"status_code": 599},
        {"status_code": 200, "html": "<h1>log in</h1>"},
        {"status_code": 200, "json": {"kinds": 5}},
    ],
    ids=str,
)
async def test_an_answer_that_is_none_of_the_servers_is_an_error(answer: dict[str, Any]) -> None:
    memory = refusing(**answer)
    with pytest.raises(MemoryApiError) as caught:
        await memory.show_usage()
    assert caught.value.status == answer["status_code"]


async def test_events_are_read_without_the_comments() -> None:
    sent = (
        'retry: 3000\n\nid: a\nevent: revision\ndata: {"revision": "a"}\n\n: still here\n\n'
        'id: b\r\nevent: revision\r\ndata: {"revision":\r\ndata: "b"}\r\n\r\ndata: {"cut'
    )
    known: list[str | None] = []

    def serve(request: httpx.Request) -> httpx.Response:
        known.append(request.headers.get("last-event-id"))
        return httpx.Response(200, text=sent)

    memory = client(serve)
    assert [event async for event in memory.follow_memory()] == [
        ServerEvent("revision", {"revision": "a"}, "a"),
        ServerEvent("revision", {"revision": "b"}, "b"),
    ]
    await anext(memory.follow_memory(last_event_id="b"))
    assert known == [None, "b"]
    refused = refusing(status_code=429, json={"detail": "close one"})
    with pytest.raises(MemoryApiError, match="close one"):
        await anext(refused.follow_memory())


@pytest.mark.parametrize("ending", ["", "/memory/v1/"])
async def test_a_server_may_be_named_with_its_routes(ending: str) -> None:
    heard: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        heard.append(request.url.path)
        return httpx.Response(200, json={"items": []})

    http = httpx.AsyncClient(transport=httpx.MockTransport(serve))
    await MemoryClient(f"http://127.0.0.1:2024/below{ending}", http=http).list_skills()
    assert heard == ["/below/memory/v1/skills"]


@pytest.mark.parametrize("url", ["", "127.0.0.1:2024"])
def test_a_server_without_a_scheme_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="begins with http://"):
        MemoryClient(url)
