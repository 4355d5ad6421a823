"""`react-mem worker` and `react-mem maintain` as people run them, and the terminal's own worker."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from react_mem.agents.cli import main
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.write.turns import Turns
from tests.e2e.test_terminal import Environment, environment, on_server

__all__ = ["environment", "on_server"]

pytestmark = pytest.mark.e2e

SAID = "My cat is called Mimi."
PATIENCE = 90


async def say(settings: StorageSettings, **policy: Any) -> None:
    """Leave a turn with the assistant that nobody has drawn from."""
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.store, MemoryPolicy.model_validate(policy))
        one = Turns(memory, None, "ann", "monday", "assistant")
        await one.close([HumanMessage(SAID, id="q"), AIMessage("Noted.", id="a")], None)


async def facts(settings: StorageSettings) -> list[str]:
    async with open_storage(settings) as storage:
        found = await storage.store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), filter={"kind": "fact"})
        return [item.value["text"] for item in found]


@pytest.fixture
def settings(on_server: Environment) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": on_server["DATABASE_URL"], "embedding": "local"})


async def test_a_worker_in_a_process_of_its_own_does_what_others_left(
    on_server: Environment, settings: StorageSettings, tmp_path: Path
) -> None:
    await say(settings, extraction={"debounce": 0})
    command = str(Path(sys.executable).with_name("react-mem"))
    worker = await asyncio.create_subprocess_exec(command, "worker", env=on_server, cwd=tmp_path, stdout=-1, stderr=-1)
    try:
        async with asyncio.timeout(PATIENCE):
            while await facts(settings) != [SAID]:  # noqa: ASYNC110 - another process tells nobody
                await asyncio.sleep(0.5)  # the interval of a poll
    finally:
        worker.send_signal(signal.SIGTERM)
        out, err = await worker.communicate()
    assert (worker.returncode, err) == (0, b"")
    assert b"assistant" in out


async def test_maintenance_now_of_one_user(
    on_server: Environment,
    settings: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for name in set(os.environ) - set(on_server):
        monkeypatch.delenv(name)
    monkeypatch.setenv("DATABASE_URL", on_server["DATABASE_URL"])
    monkeypatch.chdir(tmp_path)
    await say(settings)
    async with open_storage(settings) as storage, storage.pool.connection() as conn:
        # as it is half an hour later
        for field in ("created_at", "last_said_at"):
            await conn.execute(
                "UPDATE store SET value = jsonb_set(value, %s, '\"2020-01-01T00:00:00+00:00\"') WHERE value ? %s",
                ([field], field),
            )
    assert await asyncio.to_thread(main, ["maintain", "--user", "bob"]) == 0
    assert "new in memory: 0" in capsys.readouterr().out
    assert await asyncio.to_thread(main, ["maintain", "--user", "ann"]) == 0
    assert "new in memory: 1 · no longer believed: 0 · waiting: 0" in capsys.readouterr().out
    assert await facts(settings) == [SAID]
    async with open_storage(settings) as storage:
        state = scope_namespace("ann", MemoryScope.STATE)
        found = await storage.store.asearch(state, filter={"kind": "conversation"})
        assert [item.value["ended"] for item in found] == [True]
