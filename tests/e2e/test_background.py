"""Behind the turn, on a server: facts are drawn after a moment of quiet, once, for the right owner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient
from psycopg import AsyncConnection

from tests.support import labels
from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

pytestmark = pytest.mark.e2e

PATIENCE = 30
PLAN = "I plan a trip to Huế."


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


async def test_turns_in_quick_succession_are_read_and_leave_no_threads_of_their_own(server: DevServer) -> None:
    client = server.client("carl")
    thread, _ = await say(client, "carl", "I live in Huế.")
    await say(client, "carl", "I work as a nurse.", thread)
    facts: set[str] = set()
    async with asyncio.timeout(PATIENCE):
        while facts < {"I live in Huế.", "I work as a nurse."}:
            await asyncio.sleep(0.5)  # the interval of a poll
            _, events = await say(client, "carl", "Where do I live and work?")
            facts = set(recalled(events, "semantic"))
    threads = await client.threads.search(limit=1000)
    assert {thread["metadata"]["graph_id"] for thread in threads} == {"react_mem"}


async def test_maintenance_concludes_nothing_that_is_still_going_on(server: DevServer) -> None:
    client = server.client("ann")
    await say(client, "dora", "I like tea.")
    thread = await client.threads.create()
    done: Any = await client.runs.wait(thread["thread_id"], "maintenance", input={})
    assert done["problems"] == []


# --- with a model -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture(scope="module")
def quick(database_server: str, model: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server with a model and an agent that takes a conversation for ended after some seconds."""
    folder = tmp_path_factory.mktemp("quick")
    agents = folder / "agents"
    agents.mkdir()
    (agents / "quick.yaml").write_text("manager: react_mem\nmemory: {extraction: {debounce: 0.2, quiet_after: 3}}\n")
    with database_for_a_server(database_server) as url:
        environment = {
            "DATABASE_URL": url,
            "OPENAI_BASE_URL": model.base_url,
            "EMBEDDING_MODEL": "local",
            "REACT_MEM_AGENTS": str(agents),
        }
        with dev_server(folder, environment) as running:
            yield running


def drawn(request: Request) -> Reply:
    """Take what the user plans for a fact, and the conversation for an episode."""
    episode = labels.episode("Plan a trip to Huế", "a trip to Huế is planned")
    return Reply(json=labels.labelled(request.text, labels.Says("I plan a trip", "same", PLAN), episode=episode))


async def answer_to(client: LangGraphClient, user: str, text: str, thread: str) -> str:
    given: Any = {"messages": [{"role": "user", "content": text}]}
    context = {"user_id": user, "agent": "quick"}
    done: Any = await client.runs.wait(thread, "agent", input=given, context=context)
    return str(done["messages"][-1]["content"])


async def stored(server: DevServer, user: str, scope: str) -> list[dict[str, Any]]:
    """Return what is in a scope of a user, as the database has it."""
    async with await AsyncConnection.connect(server.database_url) as conn:
        found = await conn.execute("SELECT value FROM store WHERE prefix = %s", (f"memory.{user}.{scope}",))
        return [value for (value,) in await found.fetchall()]


async def test_turns_are_answered_while_what_is_behind_others_hangs_and_it_ends_by_itself(
    quick: DevServer, model: OpenAIServer
) -> None:
    gate, client = threading.Event(), quick.client()

    def held(request: Request) -> Reply:
        return replace(drawn(request), hold=gate)

    model.add(held, when=Match(schema=True), repeat=True)
    model.add(Reply(text="noted"), when=Match(schema=False), repeat=True)

    async def concluded(user: str) -> bool:
        episodes = [value["level"] for value in await stored(quick, user, "episodic")]
        return "conversation" in episodes and not await quick.work_left(user, threads[0], "maintain")

    threads = [str((await client.threads.create())["thread_id"]) for _ in range(2)]
    try:
        await answer_to(client, "ann", PLAN, threads[0])
        async with asyncio.timeout(PATIENCE):
            while not [request for request in model.chats() if request.schema]:  # noqa: ASYNC110 - a server tells nobody
                await asyncio.sleep(0.1)  # the interval of a poll
        # its work hangs from here on: it was a job of the server's, and the next turns of anybody waited behind it
        async with asyncio.timeout(PATIENCE):
            assert await answer_to(client, "ann", "By train, I think.", threads[0]) == "noted"
            assert await answer_to(client, "bob", "Hello.", threads[1]) == "noted"
        assert await stored(quick, "ann", "semantic") == []
    finally:
        gate.set()
    async with asyncio.timeout(60):
        while not await concluded("ann"):  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.2)  # the interval of a poll
    known = await stored(quick, "ann", "semantic")
    assert [value["text"] for value in known if value["kind"] == "fact"] == [PLAN]
    assert "Huế" in [value.get("name") for value in known if value["kind"] == "concept"]
    assert {thread["thread_id"] for thread in await client.threads.search(limit=1000)} == set(threads)
