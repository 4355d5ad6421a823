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
from tests.support.dev_server import DevServer, database_for_a_server, dev_server
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

pytestmark = pytest.mark.e2e

PATIENCE = 30
PLAN = "I plan a trip to Huế."


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
