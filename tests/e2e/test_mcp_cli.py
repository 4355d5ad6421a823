"""`react-mem mcp` as a client starts it: a process that speaks the protocol over stdio, and may be killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from react_mem.agents.cli import main
from tests.support.databases import held_writes

pytestmark = pytest.mark.e2e

COMMAND = [sys.executable, "-m", "react_mem.agents.entry", "mcp"]


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    told = {"DATABASE_URL": database_url, "EMBEDDING_MODEL": "local", "REACT_MEM_DATA_DIR": str(tmp_path / "data")}
    return {**kept, **told, "OMP_NUM_THREADS": "1"}


@asynccontextmanager
async def client_of(user: str, environment: dict[str, str], folder: Path, mode: str) -> AsyncIterator[Client]:
    """Have the official client start the command."""
    command = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "--user", user], env=environment, cwd=folder
    )
    async with Client(stdio_client(command), mode=mode) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, CallToolResult)
    assert not answer.is_error, answer.content
    return answer.structured_content or {}


class Talk:
    """A process of the command, line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._id = 0

    def send(self, method: str, **params: Any) -> None:
        assert self.process.stdin is not None
        self._id += 1
        asked = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        heard: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert heard["id"] == self._id
        return heard

    def begin(self) -> None:
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1.12.0"}}
        self.send("initialize", **about)
        assert self.hear()["result"]["serverInfo"]["name"] == "react-mem"

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.send("tools/call", name=tool, arguments=arguments)
        result: dict[str, Any] = self.hear()["result"]
        assert result.get("isError") is False, result
        return dict(result["structuredContent"])


@contextmanager
def talking(user: str, environment: dict[str, str], folder: Path) -> Iterator[Talk]:
    """Start the command, and kill what is left of it."""
    process = subprocess.Popen(
        [*COMMAND, "--user", user],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        talk = Talk(process)
        talk.begin()
        yield talk
    finally:
        process.kill()
        process.communicate()


async def test_what_one_process_remembers_the_next_recalls_and_the_terminal_lists(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = {"text": "My cat is called Mimi", "said": "My cat is called Mimi."}
    async with client_of("ann", environment, tmp_path, "legacy") as client:
        assert (await call(client, "remember", **said))["outcome"] == "stored"
    async with client_of("ann", environment, tmp_path, "auto") as client:
        [found] = (await call(client, "recall", query="What is my cat called?"))["memories"]
        assert found["text"] == "My cat is called Mimi."
    for name in ("DATABASE_URL", "EMBEDDING_MODEL"):
        monkeypatch.setenv(name, environment[name])
    assert await asyncio.to_thread(main, ["memory", "list", "--user", "ann", "--json"]) == 0
    assert "My cat is called Mimi." in capsys.readouterr().out


async def test_a_process_that_is_killed_while_it_writes_loses_nothing_and_stores_nothing_twice(
    environment: dict[str, str], tmp_path: Path
) -> None:
    facts = [{"text": text, "said": f"{text}."} for text in ("My cat is called Mimi", "My dog is called Rex")]
    with talking("ann", environment, tmp_path) as talk:
        assert talk.call("remember", **facts[0])["outcome"] == "stored"
        async with held_writes(environment["DATABASE_URL"]) as waited:
            talk.send("tools/call", name="remember", arguments=facts[1])
            await asyncio.wait_for(waited(), 60)
            talk.process.kill()
            talk.process.wait()
    with talking("ann", environment, tmp_path) as talk:
        # the client was told nothing, and says it again
        assert talk.call("remember", **facts[1])["outcome"] in ("stored", "known")
        for fact in facts:
            assert talk.call("remember", **fact)["outcome"] == "known"
        found = talk.call("recall", query="What are my pets called?")["memories"]
        assert sorted(one["text"] for one in found) == ["My cat is called Mimi.", "My dog is called Rex."]


@pytest.mark.parametrize("how", ["end of input", "SIGTERM"])
def test_it_ends_cleanly_and_says_nothing_but_the_protocol(
    how: str, environment: dict[str, str], tmp_path: Path
) -> None:
    with talking("ann", environment, tmp_path) as talk:
        talk.call("recall", query="tea")
        if how == "end of input":
            assert talk.process.stdin is not None
            talk.process.stdin.close()
            talk.process.stdin = None
        else:
            talk.process.send_signal(getattr(signal, how))
        out, err = talk.process.communicate(timeout=60)
        # every answer has been read
        assert (talk.process.returncode, out, err) == (0, b"", b"")


def test_a_database_that_cannot_be_opened_is_told_by_a_tool(environment: dict[str, str], tmp_path: Path) -> None:
    nowhere = {**environment, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere"}
    with talking("ann", nowhere, tmp_path) as talk:
        talk.send("tools/call", name="recall", arguments={"query": "tea"})
        result = talk.hear()["result"]
        assert result["isError"] is True
        assert "The database at 127.0.0.1:1/nowhere is not available" in result["content"][0]["text"]
