"""Clients of MCP as users have them, over HTTP and stdio: the official library, old and new, and the Inspector.

The old library and the Inspector have an environment each. The Inspector (110 MB) needs a newer Node.js than our own
client: where that is not installed, it is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from react_mem.graphs.mcp_route import PATH
from tests.support.dev_server import ROOT, DevServer, database_for_a_server, dev_server
from tests.support.own_environments import NODE, node_version, npm, python_with
from tests.support.people import GUARDED, token_of

pytestmark = pytest.mark.e2e

TOOLS = ["recall", "remember", "correct", "forget", "why"]
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
INSPECTOR_NEEDS = (22, 19)

over = pytest.mark.parametrize("transport", ["stdio", "http"])


@pytest.fixture(scope="module")
def server(database_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server that authenticates its users, and may be killed: it is started again."""
    config = {"auth": json.loads((ROOT / "langgraph.deploy.json").read_text(encoding="utf-8"))["auth"]}
    with (
        database_for_a_server(database_server) as url,
        dev_server(tmp_path_factory.mktemp("server"), {"DATABASE_URL": url, **GUARDED}, config) as running,
    ):
        yield running


@pytest.fixture
def address(transport: str, server: DevServer, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """What a user writes into a client's configuration, to reach the same memory either way."""

    def of(user: str) -> dict[str, Any]:
        if transport == "http":
            return {"url": f"{server.url}{PATH}", "headers": {"Authorization": f"Bearer {token_of(user)}"}}
        told = {"DATABASE_URL": server.database_url, "REACT_MEM_DATA_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
        command = ["-m", "react_mem.agents.entry", "mcp", "--user", user]
        return {"command": sys.executable, "args": command, "env": told}

    return of


@pytest.fixture(scope="module")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that holds version 1 of the official library."""
    return python_with(tmp_path_factory.mktemp("mcp1"), ["mcp>=1.19,<2"], "version 1 of the library `mcp`")


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of the official Inspector, without its pages."""
    if node_version() < INSPECTOR_NEEDS:
        pytest.skip(f"the Inspector runs in Node.js {'.'.join(map(str, INSPECTOR_NEEDS))} or newer (`node`)")
    folder = tmp_path_factory.mktemp("inspector")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    npm(folder, ["install", INSPECTOR], "the Inspector")
    return [str(NODE), str(folder / "node_modules/.bin/mcp-inspector"), "--cli"]


@over
def test_a_client_of_version_1_of_the_library_does_what_it_can(
    transport: str, address: Callable[[str], dict[str, Any]], old_library: Path, tmp_path: Path
) -> None:
    script = ROOT / "tests/support/mcp_client_1.py"
    command = [old_library, script, json.dumps(address(f"old-{transport}"))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["library"].startswith("1.")
    assert (told["server"], told["protocol"]) == ("react-mem", "2025-11-25")
    assert told["tools"] == TOOLS
    assert (told["outcome"], told["found"]) == ("stored", ["My cat is called Mimi."])
    assert told["refused"]
    assert told["resources"] == ["memory://profile", "memory://conversations"]
    assert told["profile"]["fields"] == []
    assert "My cat is called Mimi." in told["prompt"][0]
    assert told["prompt"][1] == "What is my cat called?"


@over
def test_the_inspector_finds_what_there_is_and_nothing_to_complain_of(
    transport: str, address: Callable[[str], dict[str, Any]], inspector: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "mcp.json"
    kind = {"http": "streamable-http", "stdio": "stdio"}[transport]
    about = {"mcpServers": {"memory": {"type": kind, **address(f"inspector-{transport}")}}}
    config.write_text(json.dumps(about), encoding="utf-8")

    def inspect(method: str, *arguments: str) -> dict[str, Any]:
        command = [*inspector, "--config", str(config), "--server", "memory", "--method", method, *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    # strict: problems of a tool's schema with one of the models' providers fail it
    assert [tool["name"] for tool in inspect("tools/list", "--strict")["tools"]] == TOOLS
    said = ["text=My cat is called Mimi", "said=My cat is called Mimi."]
    stored = inspect("tools/call", "--tool-name", "remember", "--tool-arg", *said)
    assert stored["structuredContent"]["outcome"] == "stored"
    found = inspect("tools/call", "--tool-name", "recall", "--tool-arg", "query=What is my cat called?")
    assert [one["text"] for one in found["structuredContent"]["memories"]] == ["My cat is called Mimi."]
    if transport == "stdio":
        # the rest is the same, and each of these starts the command anew
        return
    listed = inspect("resources/list")["resources"]
    assert [one["uri"] for one in listed] == ["memory://profile", "memory://conversations"]
    [template] = inspect("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "memory://conversations/{id}"
    [profile] = inspect("resources/read", "--uri", "memory://profile")["contents"]
    assert json.loads(profile["text"])["fields"] == []
    assert [one["name"] for one in inspect("prompts/list")["prompts"]] == ["context"]
    prompt = inspect("prompts/get", "--prompt-name", "context", "--prompt-args", "message=What is my cat called?")
    assert "My cat is called Mimi." in prompt["messages"][0]["content"]["text"]
