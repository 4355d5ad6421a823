"""`react-mem stats`: over a database, and over a server that runs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import PutOp
from prometheus_client.parser import text_string_to_metric_families
from psycopg import AsyncConnection

from react_mem.agents.cli import main
from react_mem.agents.terminal.scrape import work_out
from react_mem.memory import telemetry
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres_server import connected
from react_mem.memory.store.statistics import statistics
from react_mem.memory.store.storage_settings import StorageSettings
from react_mem.memory.telemetry.prometheus import exposition
from tests.support.databases import open_memory_store

_SETTINGS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CHAT_MODEL", "EMBEDDING_MODEL", "DATABASE_URL")


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    stdout: str
    stderr: str


Run = Callable[..., Awaitable[Done]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `react-mem stats` in this process, from an empty folder."""
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    async def run_(*arguments: str, database: str = "", code: int = 0) -> Done:
        if database:
            monkeypatch.setenv("DATABASE_URL", database)
        capsys.readouterr()
        assert await asyncio.to_thread(main, ["stats", *arguments]) == code, capsys.readouterr().err
        return Done(*capsys.readouterr())

    return run_


async def fill(url: str, words: EmbeddingModel) -> None:
    """Let Ann say three things, one of which cannot be read, and Bob one."""
    async with open_memory_store(url, words) as store:
        memory = MemoryFacade(store)
        fact = {"text": "User has a cat", "source_ids": ["1"]}
        await memory.semantic.add([fact], user_id="ann", session_id="monday", agent_id="tester")
        said = [HumanMessage("I have a cat", id="1"), AIMessage("How nice", id="2"), HumanMessage("Yes", id="3")]
        await memory.dialog.append("ann", "monday", said, agent_id="tester")
        await memory.dialog.append("bob", "friday", [HumanMessage("Hello", id="4")], agent_id="tester")
        # whose name begins as Ann's does, and who must not be counted as hers
        await memory.dialog.append("ann_b.c", "friday", [HumanMessage("Hi", id="5")], agent_id="tester")
        waits: list[dict[str, Any]] = [{}, {"attempts": 2}, {"attempts": 5, "failures": 5}]
        await store.abatch(
            [
                PutOp(
                    PENDING.namespace("ann"),
                    f"p{number}",
                    PendingTurn(
                        id=f"p{number}", text="secret words", session_id="monday", agent_id="tester", **more
                    ).to_value(),
                    index=False,
                )
                for number, more in enumerate(waits)
            ]
        )


async def test_what_is_held_of_all_and_of_one(database_url: str, words: EmbeddingModel, run: Run) -> None:
    await fill(database_url, words)
    everybody = json.loads((await run("--json", database=database_url)).stdout)
    assert everybody["owners"] == 3
    counted = {(one["scope"], one["kind"]): one["count"] for one in everybody["holdings"]}
    assert (counted["semantic", "fact"], counted["dialog", "message"]) == (1, 5)
    assert everybody["waiting"]["waiting"] == 3
    assert everybody["embedding"] == {"name": "test:words", "dims": 64}
    assert everybody["disk"]["memories"] > 0
    assert everybody["disk"]["vectors"] > 0
    assert everybody["server"]["bytes"] > everybody["disk"]["vectors"]

    ann = json.loads((await run("--json", "--user", "ann")).stdout)
    assert ann["owners"] == 1
    counted = {(one["scope"], one["kind"]): one["count"] for one in ann["holdings"]}
    assert (counted["semantic", "fact"], counted["dialog", "message"]) == (1, 3)
    assert {name: ann["waiting"][name] for name in ("waiting", "failed", "parked")} == {
        "waiting": 3,
        "failed": 2,
        "parked": 1,
    }
    assert ann["vectors"] == 4
    assert ann["disk"] == {}

    shown = (await run("--user", "ann")).stdout
    assert "3 turns wait" in shown
    assert "2 were tried in vain, 1 of them for good" in shown
    assert "test:words, 64 dimensions" in shown
    assert "fact" in shown
    assert "secret" not in shown + (await run()).stdout
    assert "nobody, of whom nothing is remembered" in (await run("--user", "nobody")).stdout


async def test_an_empty_database_holds_nothing(database_url: str, run: Run) -> None:
    shown = (await run(database=database_url)).stdout
    assert "0 users" in shown
    assert "none yet" in shown
    async with await AsyncConnection.connect(database_url) as conn:
        found = await (await conn.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).fetchone()
    # to look at a database changes nothing in it
    assert found == (0,)


async def test_a_database_that_is_not_there(run: Run) -> None:
    done = await run(database="postgresql://127.0.0.1:1/none", code=2)
    assert "127.0.0.1:1" in done.stderr


async def test_the_models_are_asked_when_told_to(database_url: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_MODEL", "extractive")
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    checks = json.loads((await run("--check", "--json", database=database_url)).stdout)["checks"]
    assert [(check["what"], check["ok"]) for check in checks] == [("embedder", True), ("chat model", True)]
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("CHAT_MODEL", "openai:gpt-4.1-mini")
    monkeypatch.setattr("react_mem.agents.models.LIMITS", {"timeout": 5.0, "max_retries": 0})
    shown = (await run("--check", code=1)).stdout
    assert "openai:gpt-4.1-mini" in shown.split("chat model")[-1]


async def test_statistics_stay_within_the_schema(database_url: str, words: EmbeddingModel) -> None:
    await fill(database_url, words)
    settings = StorageSettings.model_validate({"database_url": database_url, "db_schema": "elsewhere"})
    async with connected(settings) as conn:
        assert (await statistics(conn)).owners == 0


@contextmanager
def serving(answers: dict[str, tuple[int, bytes]], seen: list[str | None]) -> Iterator[str]:
    """Serve fixed answers by path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            status, body = answers.get(self.path, (404, b""))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_running_server_is_read(run: Run) -> None:
    exposition()  # it counts from now on
    with telemetry.span("web_engine", engine="statistics"):
        pass
    with pytest.raises(ValueError, match="broken"), telemetry.span("web_engine", engine="statistics"):
        raise ValueError("broken")
    telemetry.count("degradations", part="context")
    seen: list[str | None] = []
    answers = {"/memory/metrics": (200, exposition()), "/secret": (401, b""), "/page": (200, b"<html>hello</html>")}
    with serving(answers, seen) as url:
        told = json.loads((await run("--url", url, "--json", "--header", "Authorization: Bearer abc")).stdout)
        [asked] = [one for one in told["latencies"] if one["labels"] == {"engine": "statistics"}]
        assert (asked["operation"], asked["count"], asked["failed"]) == ("web_engine", 2, 1)
        assert 0 < asked["p50"] <= asked["p95"] < 1
        assert asked["per_minute"] > 0
        assert seen == ["Bearer abc"]
        shown = (await run("--url", f"{url}/memory/metrics")).stdout
        assert "web_engine statistics" in shown
        assert "degradations context" in shown
        for path, problem in [("/secret", "401"), ("/page", "does not answer with"), ("/nowhere", "404")]:
            assert problem in (await run("--url", url + path, code=2)).stderr
    assert "cannot be reached" in (await run("--url", url, code=2)).stderr
    assert "is not the address" in (await run("--url", "file:///etc/passwd", code=2)).stderr


def test_rates_and_latencies_are_worked_out() -> None:
    text = """
# TYPE react_mem_start_time_seconds gauge
react_mem_start_time_seconds 1000
# TYPE react_mem_tool_duration_seconds histogram
react_mem_tool_duration_seconds_bucket{error_type="",le="0.1",tool="a"} 80
react_mem_tool_duration_seconds_bucket{error_type="",le="0.2",tool="a"} 90
react_mem_tool_duration_seconds_bucket{error_type="",le="+Inf",tool="a"} 90
react_mem_tool_duration_seconds_count{error_type="",tool="a"} 90
react_mem_tool_duration_seconds_sum{error_type="",tool="a"} 9
react_mem_tool_duration_seconds_bucket{error_type="E",le="0.1",tool="a"} 0
react_mem_tool_duration_seconds_bucket{error_type="E",le="0.2",tool="a"} 0
react_mem_tool_duration_seconds_bucket{error_type="E",le="+Inf",tool="a"} 10
react_mem_tool_duration_seconds_count{error_type="E",tool="a"} 10
react_mem_tool_duration_seconds_sum{error_type="E",tool="a"} 11
# TYPE react_mem_turns_total counter
react_mem_turns_total 7
# TYPE process_cpu_total counter
process_cpu_total 3
"""
    found = work_out(text_string_to_metric_families(text), now=1600)
    [tool] = found.latencies
    assert (tool.operation, tool.labels, tool.count, tool.failed) == ("tool", {"tool": "a"}, 100, 10)
    assert (tool.per_minute, tool.mean) == (10, 0.2)
    assert tool.p50 == pytest.approx(0.0625)
    # beyond the last bucket nobody knows: its lower end
    assert tool.p95 == pytest.approx(0.2)
    assert [(one.name, one.value) for one in found.series] == [("turns", 7)]
    assert found.uptime == 600
