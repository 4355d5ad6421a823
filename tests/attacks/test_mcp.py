"""The memory over MCP on real servers: strangers, other users, restarts, and what a chat and a client share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from react_mem.graphs.chat_summary_route import MAX_BODY_BYTES
from react_mem.graphs.mcp_route import PATH
from tests.support.dev_server import DevServer
from tests.support.people import token_of

pytestmark = pytest.mark.e2e

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "mcp", "version": "1.12.0"},
    },
}
"""First request of a client of the protocol's 1.x libraries, as it goes over the wire."""

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def client_of(server: DevServer, user: str = "", mode: str = "auto") -> AsyncIterator[Client]:
    """Connect the official client, with a user's token."""
    headers = {"authorization": f"Bearer {token_of(user)}"} if user else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{server.url}{PATH}", http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    assert not answer.is_error, answer.content
    return answer.structured_content or {}


async def remember(client: Client, text: str) -> dict[str, Any]:
    return await call(client, "remember", text=text, said=f"{text}.")


async def recalled(client: Client, query: str) -> list[str]:
    return [one["text"] for one in (await call(client, "recall", query=query))["memories"]]


async def chat(server: DevServer, user: str, text: str) -> str:
    """Say something in a conversation of its own; return the answer."""
    client = server.client(token_of(user))
    asked = {"messages": [{"role": "user", "content": text}]}
    thread = await client.threads.create()
    values: Any = await client.runs.wait(thread["thread_id"], "react_mem", input=asked)
    for _ in range(600):
        if not await server.work_left(user, thread["thread_id"]):
            break
        await asyncio.sleep(0.1)
    return str(values["messages"][-1]["content"])


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer ann"}, {"x-auth-scheme": "langsmith"}])
async def test_a_stranger_speaks_no_word_of_it(headers: dict[str, str], anybody: httpx.AsyncClient) -> None:
    for method in ("initialize", "tools/list", "tools/call", "resources/read"):
        asked = {**INITIALIZE, "method": method}
        assert (await anybody.post(PATH, json=asked, headers={**ACCEPT, **headers})).status_code == 401


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_recalls_what_the_chat_stored_and_the_other_way_round(
    mode: str, guarded_server: DevServer
) -> None:
    user = f"eve-{mode}"
    await chat(guarded_server, user, "My cat is called Mimi.")
    async with client_of(guarded_server, user, mode) as client:
        assert "My cat is called Mimi." in await recalled(client, "What is my cat called?")
        assert (await remember(client, "My dog is called Rex"))["outcome"] == "stored"
    assert "Rex" in await chat(guarded_server, user, "What is my dog called?")


async def test_a_client_goes_on_after_a_restart_of_the_server(guarded_server: DevServer) -> None:
    async with client_of(guarded_server, "fay") as client:
        await remember(client, "My cat is called Mimi")
        await asyncio.to_thread(guarded_server.restart)
        assert await recalled(client, "What is my cat called?") == ["My cat is called Mimi."]


async def test_calls_of_two_users_at_once_are_answered_to_each_their_own(guarded_server: DevServer) -> None:
    async def told(user: str, name: str, mode: str) -> list[str]:
        async with client_of(guarded_server, user, mode) as client:
            await remember(client, f"My cat is called {name}")
            found = await asyncio.gather(*(recalled(client, "What is my cat called?") for _ in range(5)))
            return [text for texts in found for text in texts]

    one, other = await asyncio.gather(told("gus", "Mimi", "legacy"), told("hal", "Tom", "auto"))
    assert one == ["My cat is called Mimi."] * 5
    assert other == ["My cat is called Tom."] * 5


async def test_nobody_reaches_somebody_elses_memory_by_its_id(guarded_server: DevServer) -> None:
    async with client_of(guarded_server, "ida") as client:
        [stored] = (await remember(client, "My locker code is 4711"))["memories"]
    async with client_of(guarded_server, "joe") as client:
        said = {"said": "Forget my locker code 4711. My locker code is 1."}
        for tool, arguments in (
            ("why", {"id": stored["id"]}),
            ("correct", {"id": stored["id"], "text": "My locker code is 1", **said}),
            ("forget", {"what": stored["id"], **said}),
        ):
            answer = await client.call_tool(tool, arguments)
            assert isinstance(answer, CallToolResult)
            assert answer.is_error
            assert "4711" not in str(answer.content)
    async with client_of(guarded_server, "ida") as client:
        assert await recalled(client, "What is my locker code?") == ["My locker code is 4711."]


async def test_a_client_of_the_protocols_first_versions_is_served(ann: httpx.AsyncClient) -> None:
    """A library of 1.x sends these, one after the other."""
    begun = (await ann.post(PATH, json=INITIALIZE, headers=ACCEPT)).json()["result"]
    assert begun["protocolVersion"] == "2025-06-18"
    assert begun["serverInfo"]["name"] == "react-mem"
    headers = {**ACCEPT, "mcp-protocol-version": "2025-06-18"}
    notified = await ann.post(PATH, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    assert notified.status_code == 202
    asked = {"name": "recall", "arguments": {"query": "tea"}}
    answer = await ann.post(
        PATH, json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}, headers=headers
    )
    assert answer.json()["result"]["isError"] is False
    assert (await ann.get(PATH, headers=headers)).status_code == 405


@pytest.mark.parametrize(
    ("content", "statuses"),
    [
        (b"", {400}),
        (b"[" * 50_000, {400}),
        (b"{}", {400}),
        (b"\xff\xfe", {400}),
        (json.dumps({**INITIALIZE, "method": 7}).encode(), {400}),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', {400}),
        (b" " * (MAX_BODY_BYTES + 1), {413}),
    ],
    ids=range(7),
)
async def test_what_is_no_request_is_refused(content: bytes, statuses: set[int], ann: httpx.AsyncClient) -> None:
    assert (await ann.post(PATH, content=content, headers=ACCEPT)).status_code in statuses


async def test_without_authentication_it_is_the_development_users_memory(
    passer_by: httpx.AsyncClient, open_server: DevServer
) -> None:
    async with client_of(open_server) as client:
        [stored] = (await remember(client, "My cat is called Mimi"))["memories"]
        why = await call(client, "why", id=stored["id"])
        assert why["memory"]["text"] == "My cat is called Mimi."
    evil = await passer_by.post(PATH, json=INITIALIZE, headers={**ACCEPT, "host": "evil.example"})
    assert evil.status_code == 403
