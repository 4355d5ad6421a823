"""Behind the turn, on a server: facts are drawn after a moment of quiet, once, for the right owner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from graphs.background import extractor_thread
from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server

pytestmark = pytest.mark.e2e

PATIENCE = 30


@pytest.fixture(scope="module", params=["open", "authenticated"])
def server(
    request: pytest.FixtureRequest, database_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    """A server without a model: the user's statements become facts as they are."""
    auth: dict[str, Any] = {"auth": {"path": f"{ROOT}/tests/support/auth.py:auth"}}
    config = auth if request.param == "authenticated" else {}
    with (
        database_for_a_server(database_server) as url,
        dev_server(tmp_path_factory.mktemp("server"), {"DATABASE_URL": url}, config) as running,
    ):
        yield running


async def say(client: LangGraphClient, user: str, text: str, thread: str | None = None) -> tuple[str, list[Any]]:
    """Run a turn; return its thread and its events."""
    thread = thread or str((await client.threads.create())["thread_id"])
    given: Any = {"messages": [{"role": "user", "content": text}]}
    stream = client.runs.stream(thread, "react_mem", input=given, context={"user_id": user}, stream_mode="custom")
    return thread, [part.data async for part in stream if part.event == "custom"]


def recalled(events: list[Any], scope: str) -> list[str]:
    """Return what a turn retrieved of one scope."""
    [event] = [event for event in events if event["type"] == "memory" and event["operation"] == "retrieve"]
    return [item["text"] for item in event["items"] if item["scope"] == scope]


async def test_what_was_said_is_recalled_at_once_and_becomes_a_fact_of_its_owner(server: DevServer) -> None:
    ann, bob = server.client("ann"), server.client("bob")
    await say(ann, "ann", "My cat is called Mimi.")
    _, events = await say(ann, "ann", "What is my cat called?")
    assert "My cat is called Mimi." in recalled(events, "dialog") + recalled(events, "semantic")
    async with asyncio.timeout(PATIENCE):
        while "My cat is called Mimi." not in recalled(events, "semantic"):
            await asyncio.sleep(0.5)  # the interval of a poll
            _, events = await say(ann, "ann", "What is my cat called?")
    _, events = await say(bob, "bob", "What is my cat called?")
    assert recalled(events, "semantic") == recalled(events, "dialog") == []


async def test_turns_in_quick_succession_are_read_in_one_go(server: DevServer, request: pytest.FixtureRequest) -> None:
    client = server.client("carl")
    thread, _ = await say(client, "carl", "I live in Huế.")
    await say(client, "carl", "I work as a nurse.", thread)
    facts: set[str] = set()
    async with asyncio.timeout(PATIENCE):
        while facts < {"I live in Huế.", "I work as a nurse."}:
            await asyncio.sleep(0.5)  # the interval of a poll
            _, events = await say(client, "carl", "Where do I live and work?")
            facts = set(recalled(events, "semantic"))
    behind = extractor_thread("carl", thread)
    assert [run["status"] for run in await client.runs.list(behind)] == ["success"]
    if "authenticated" in request.node.name:
        with pytest.raises(NotFoundError):
            await server.client("mallory").runs.list(behind)


async def test_maintenance_concludes_nothing_that_is_still_going_on(server: DevServer) -> None:
    client = server.client("ann")
    await say(client, "dora", "I like tea.")
    thread = await client.threads.create()
    done: Any = await client.runs.wait(thread["thread_id"], "maintenance", input={})
    assert done["problems"] == []
