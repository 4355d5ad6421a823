"""`react-mem hold` and `react-mem retention`, as somebody types them, on a real database."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from react_mem.agents.cli import main
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Message
from react_mem.memory.opening import open_storage
from react_mem.memory.store.storage_settings import StorageSettings

pytestmark = pytest.mark.e2e


async def said_in(year: int) -> None:
    """Have Ann say something in a year."""
    at = datetime.now(UTC).replace(year=year)
    message = Message(
        id=f"in-{year}",
        role="user",
        text="I like tea",
        content="I like tea",
        turn=0,
        session_id=str(year),
        agent_id="keeper",
        created_at=at,
    )
    async with open_storage(StorageSettings.from_env()) as storage:
        await storage.store.aput(scope_namespace("ann", MemoryScope.DIALOG), message.id, message.to_value())


@pytest.fixture(autouse=True)
def on_a_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    done = capsys.readouterr()
    return done.out + done.err


def test_a_hold_is_set_listed_lifted_and_stops_a_forgetting_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hold", "set", "--user", "ann", "case-2026-17"]) == 0
    assert main(["hold", "set", "--user", "bob", "--session", "monday", "case-2026-18"]) == 0
    capsys.readouterr()
    assert main(["hold", "list", "--json"]) == 0
    held = json.loads(said(capsys))
    assert {(one["user"], one["session_id"], one["reference"]) for one in held} == {
        ("ann", "", "case-2026-17"),
        ("bob", "monday", "case-2026-18"),
    }
    assert main(["memory", "forget", "--user", "ann", "--yes"]) == 2
    assert "case-2026-17" in said(capsys)
    assert main(["hold", "lift", "--user", "ann", "case-2026-17"]) == 0
    assert main(["memory", "forget", "--user", "ann", "--yes"]) == 0
    assert main(["hold", "lift", "--user", "ann", "case-2026-17"]) != 0
    assert "no such hold" in said(capsys)


def test_what_is_past_its_time_is_counted_and_then_removed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = tmp_path / "keeper.yaml"
    agent.write_text("name: keeper\nmanager: react_mem\nsystem_prompt: Help.\nmemory: {retention: {dialog: 30d}}\n")
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path))
    asyncio.run(said_in(2020))
    asyncio.run(said_in(datetime.now(UTC).year))
    counted = []
    for arguments in (["--dry-run"], [], []):
        assert main(["retention", "--json", *arguments]) == 0
        counted.append(json.loads(said(capsys))["removed"])
    assert counted == [{"message": 1}, {"message": 1}, {}]
