"""Commands that find nothing say whose memories there are and where, and reading makes nothing; `users`, `doctor`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from react_mem.agents.cli import main
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.opening import Storage

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run a command in an empty folder of its own."""
    for name in (
        "DATABASE_URL",
        "REACT_MEM_DATA_DIR",
        "XDG_DATA_HOME",
        "MEMORY_ENCRYPTION_KEY",
        "OPENAI_API_KEY",
        "CHAT_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run_(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(arguments)
        return code, *capsys.readouterr()

    return run_


@pytest.mark.parametrize(
    "command",
    [
        *(f"memory {verb}" for verb in ("list", "search x", "threads", "history", "pending", "export", "undo")),
        *("memory forget --yes", "users", "audit", "hold list", "keys status", "retention", "skills export out"),
        "context --thread 1",
    ],
)
def test_reading_makes_no_database_and_says_where_it_looked(command: str, run: Run, tmp_path: Path) -> None:
    code, _, told = run(*command.split())
    assert code == 2
    assert "nothing is remembered in" in told
    assert str(tmp_path) in told
    assert [*tmp_path.iterdir()] == []


async def test_who_has_memories_is_told(
    run: Run, database_url: str, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert "there are no memories yet in PostgreSQL at" in (await asyncio.to_thread(run, "users"))[1]
    memory = MemoryFacade(storage.memory)
    for user, count in (("ann", 2), ("bo.b@x", 1)):
        facts = [{"text": f"User has {n} cats", "source_ids": ["1"]} for n in range(count)]
        await memory.semantic.add(facts, user_id=user, session_id="monday", agent_id="tester")
    code, told, _ = await asyncio.to_thread(run, "users", "--json")
    assert (code, {one["user"]: one["memories"] for one in json.loads(told)}) == (0, {"ann": 2, "bo.b@x": 1})
    for command in ("list", "threads", "history", "search cats", "pending"):
        code, told, _ = await asyncio.to_thread(run, "memory", *command.split(), "--user", "somebody")
        assert code == 0
        assert re.match(r"nothing of somebody in PostgreSQL at .*; there are memories of bo.b@x \(1\), ann \(2\)", told)
    assert (await asyncio.to_thread(run, "memory", "threads", "--user", "ann"))[1] == "nothing\n"
    code, told, _ = await asyncio.to_thread(run, "doctor", "--user", "ann", "--json")
    found = json.loads(told)
    assert (code, found["wrong"], found["memories"]) == (0, [], "bo.b@x (1), ann (2)")
    assert "pgvector" in found["database"]
    assert found["vectors"].startswith(f"of {found['embedder']}, ")
    assert "encryption (MEMORY_ENCRYPTION_KEY is not set)" in found["off"]


def test_the_doctor_names_a_misspelt_variable_and_what_cannot_be_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, told, _ = run("doctor")
    assert code == 0
    assert "there is no database yet" in told
    monkeypatch.setenv("MEMORY_ENCRYPTON_KEY", "k3ys3cret")
    monkeypatch.setenv("EMBEDING_MODEL", "local")
    code, told, _ = run("doctor", "--json")
    assert code == 1
    assert [one.partition("?")[0] for one in json.loads(told)["wrong"]] == [
        "MEMORY_ENCRYPTON_KEY is set, and nothing reads it: is MEMORY_ENCRYPTION_KEY meant",
        "EMBEDING_MODEL is set, and nothing reads it: is EMBEDDING_MODEL meant",
    ]
    assert "k3ys3cret" not in told
    monkeypatch.delenv("MEMORY_ENCRYPTON_KEY")
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:hun/ter2@host/db")
    code, told, _ = run("doctor")
    assert "percent-encoded" in told
    assert (code, "ter2" in told, [*tmp_path.iterdir()]) == (1, False, [])


async def test_the_doctor_asks_the_models_when_told_to(
    run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    code, told, _ = await asyncio.to_thread(run, "doctor", "--check", "--json")
    found = json.loads(told)
    assert (code, found["embedder"], found["wrong"]) == (0, "local, answers", [])
    assert found["model"].startswith("extractive, answers")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("CHAT_MODEL", "openai:gpt-4.1-mini")
    monkeypatch.setattr("react_mem.agents.models.LIMITS", {"timeout": 5.0, "max_retries": 0})
    code, told, _ = await asyncio.to_thread(run, "doctor", "--check", "--json")
    assert (code, "openai:gpt-4.1-mini" in json.loads(told)["wrong"][0]) == (1, True)
