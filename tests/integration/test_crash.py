"""A process that dies in the middle of a turn: what was said is neither lost nor stored twice."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
from collections import Counter
from typing import Any

import pytest

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from tests.support.labels import Says, clauses_in, labelled
from tests.support.one_turn import go_on, run
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

FACT = "I am allergic to peanuts."


def propose(request: Request) -> Reply:
    """Label the fact in each message that states it, as a model does, however often it is asked."""
    return Reply(json=labelled(request.text, Says(FACT, "same", FACT), summary="User spoke of allergies."))


@pytest.fixture(autouse=True)
def environment(database_url: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the processes, and of this one."""
    for name, value in {
        "DATABASE_URL": database_url,
        "OPENAI_BASE_URL": openai_server.base_url,
        "OPENAI_API_KEY": "none",
        "EMBEDDING_MODEL": "local",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def model_server(openai_server: OpenAIServer) -> OpenAIServer:
    openai_server.add(propose, when=Match(schema=True), repeat=True)
    openai_server.add(Reply(text="I will keep it in mind."), when=Match(schema=False), repeat=True)
    return openai_server


async def start(order: dict[str, Any]) -> asyncio.subprocess.Process:
    """Start a process that runs one turn."""
    command = [sys.executable, "-m", "tests.support.one_turn", json.dumps(order)]
    return await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1)


async def stored(database_url: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what the store holds of ann: messages, facts, turns that wait."""
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})
    async with open_storage(settings) as storage:
        messages = await storage.store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=100)
        facts = await storage.store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=100)
        waiting = await MemoryFacade(storage.store).pending("ann")
        said = [item.value for item in messages if item.value["kind"] == "message"]
        return said, [item.value for item in facts], waiting


@pytest.mark.parametrize(("die_at", "thread"), [("answer", "same"), ("reason", "another")])
async def test_killed_between_answer_and_extract(
    die_at: str, thread: str, database_url: str, model_server: OpenAIServer
) -> None:
    said = FACT
    process = await start({"thread": "same", "text": said, "die_at": die_at})
    _, err = await process.communicate()
    assert process.returncode == -9, err.decode()
    messages, facts, waiting = await stored(database_url)
    assert [message["content"] for message in messages] == [said]
    assert facts == []
    assert len(waiting) == 1

    # another conversation picks it up when it has waited long enough to be surely nobody's
    await run({"thread": thread, "text": "What now?"})
    if thread == "another":
        _, facts, waiting = await stored(database_url)
        assert (facts, len(waiting)) == ([], 1)
        await age_pending(database_url)
        await run({"thread": thread, "text": "And now?"})

    messages, facts, waiting = await stored(database_url)
    assert Counter(message["content"] for message in messages)[said] == 1
    assert [(fact["text"], fact["support"], fact["current"]) for fact in facts] == [(FACT, 1, True)]
    assert waiting == []
    assert Counter((m["session_id"], m["turn"]) for m in messages).most_common(1)[0][1] == 1


async def age_pending(database_url: str) -> None:
    """Make what waits look as old as it is after a few minutes."""
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})
    async with open_storage(settings) as storage, storage.pool.connection() as conn:
        await conn.execute(
            "UPDATE store SET value = jsonb_set(value, '{created_at}', '\"2020-01-01T00:00:00+00:00\"') "
            "WHERE prefix LIKE 'memory.%.pending'"
        )


async def test_killed_while_the_model_extracts(database_url: str, openai_server: OpenAIServer) -> None:
    hold = threading.Event()
    openai_server.add(Reply(json={}, hold=hold), when=Match(schema=True))
    openai_server.add(propose, when=Match(schema=True), repeat=True)
    openai_server.add(Reply(text="I will keep it in mind."), when=Match(schema=False), repeat=True)
    order = {"thread": "1", "text": FACT}
    process = await start(order)
    await asyncio.to_thread(openai_server.wait_for, 2, 60)
    process.kill()
    await process.communicate()
    hold.set()
    messages, facts, waiting = await stored(database_url)
    assert sorted(message["role"] for message in messages) == ["assistant", "user"]
    assert facts == []
    assert waiting

    await run({"thread": "1", "text": "What now?"})
    messages, facts, waiting = await stored(database_url)
    assert len(messages) == 4
    assert [(fact["text"], fact["support"]) for fact in facts] == [(FACT, 1)]
    assert waiting == []


async def test_killed_again_and_again_at_random_it_remembers_each_thing_once(
    database_url: str, openai_server: OpenAIServer
) -> None:
    def label(request: Request) -> Reply:
        kept = [text for text in clauses_in(request.text).values() if text.startswith("I keep thing number")]
        return Reply(json=labelled(request.text, *(Says(text, "same", text) for text in kept)))

    openai_server.add(label, when=Match(schema=True), repeat=True)
    openai_server.add(Reply(text="I will keep it in mind."), when=Match(schema=False), repeat=True)
    things = [f"I keep thing number {number}." for number in range(5)]
    order = {"thread": "1", "turns": things}
    chance = random.Random(1)  # noqa: S311 - no secret
    for _ in range(2):
        process = await start(order)
        await asyncio.to_thread(openai_server.wait_for, len(openai_server.requests) + 1, 60)
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        process.kill()
        await process.communicate()
    await go_on(order)
    messages, facts, waiting = await stored(database_url)
    assert [m["text"] for m in sorted(messages, key=lambda m: m["turn"]) if m["role"] == "user"] == things
    assert len({message["turn"] for message in messages}) == len(messages) == 2 * len(things)
    assert sorted((fact["text"], fact["support"], fact["current"]) for fact in facts) == [(t, 1, True) for t in things]
    assert waiting == []
