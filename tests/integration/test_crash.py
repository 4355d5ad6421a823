"""A process that dies in the middle of a turn: what was said is neither lost nor stored twice."""

from __future__ import annotations

import asyncio
import json
import os
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
from tests.support.labels import Says, labelled
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

FACT = "I am allergic to peanuts."


def propose(request: Request) -> Reply:
    """Label the fact in each message that states it, as a model does, however often it is asked."""
    return Reply(json=labelled(request.text, Says(FACT, "same", FACT), summary="User spoke of allergies."))


@pytest.fixture
def model_server(openai_server: OpenAIServer) -> OpenAIServer:
    openai_server.add(propose, when=Match(schema=True), repeat=True)
    openai_server.add(Reply(text="I will keep it in mind."), when=Match(schema=False), repeat=True)
    return openai_server


async def start(order: dict[str, Any], database_url: str, server: OpenAIServer) -> asyncio.subprocess.Process:
    """Start a process that runs one turn."""
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "none",
        "EMBEDDING_MODEL": "local",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.one_turn", json.dumps(order), stdout=-1, stderr=-1, env=environment
    )


async def run_turn(order: dict[str, Any], database_url: str, server: OpenAIServer) -> int:
    """Run one turn in a process of its own; return its exit code."""
    process = await start(order, database_url, server)
    _, err = await process.communicate()
    assert process.returncode in {0, -9}, err.decode()
    return process.returncode or 0


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
    die_at: str, thread: str, database_url: str, model_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = FACT
    code = await run_turn({"thread": "same", "text": said, "die_at": die_at}, database_url, model_server)
    assert code == -9
    messages, facts, waiting = await stored(database_url)
    assert [message["content"] for message in messages] == [said]
    assert facts == []
    assert len(waiting) == 1

    # another conversation picks it up when it has waited long enough to be surely nobody's
    code = await run_turn({"thread": thread, "text": "What now?"}, database_url, model_server)
    assert code == 0
    if thread == "another":
        _, facts, waiting = await stored(database_url)
        assert (facts, len(waiting)) == ([], 1)
        await age_pending(database_url)
        await run_turn({"thread": thread, "text": "And now?"}, database_url, model_server)

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
    process = await start(order, database_url, openai_server)
    await asyncio.to_thread(openai_server.wait_for, 2, 60)
    process.kill()
    await process.communicate()
    hold.set()
    messages, facts, waiting = await stored(database_url)
    assert sorted(message["role"] for message in messages) == ["assistant", "user"]
    assert facts == []
    assert waiting

    await run_turn({"thread": "1", "text": "What now?"}, database_url, openai_server)
    messages, facts, waiting = await stored(database_url)
    assert len(messages) == 4
    assert [(fact["text"], fact["support"]) for fact in facts] == [(FACT, 1)]
    assert waiting == []
