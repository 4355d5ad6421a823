"""The TypeScript client: its own tests on our whole app on this machine, its types, its example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import put
from tests.support.documents import blocks, blocks_of
from tests.support.installing import ROOT
from tests.support.linking import record
from tests.support.own_environments import NODE, node_version
from tests.support.page_server import PageServer, page_server

CLIENT = ROOT / "clients/typescript"

FACTS = 120

TSC = next(
    (found for place in (str(CLIENT / "node_modules/.bin"), None) if (found := shutil.which("tsc", path=place))), None
)


needs_node = pytest.mark.skipif(
    node_version() < (20,), reason="the TypeScript client runs in Node.js 20 or newer (`node`)"
)


async def fill(store: BaseStore) -> None:
    """Remember more facts than a page has, a conversation, and what is held."""
    facts = [record("fact", f"f{place}", text=f"I own book {place}.", minute=place) for place in range(FACTS)]
    await MemoryFacade(store).apply([put("ann", fact) for fact in facts])
    memory = MemoryFacade(store)
    said = [HumanMessage(f"I said {place}.", id=f"q{place}") for place in range(3)]
    await memory.dialog.append("ann", "monday", said, agent_id="assistant")
    await MemoryFacade(store).apply([put("held", record("fact", "h", text="I have a red boat."))])
    await memory.hold("held", "case-7")


@pytest.fixture(scope="module")
def server(database_server: str) -> Iterator[PageServer]:
    """A server with what three people have."""
    with page_server(database_server) as served:
        served.run(fill)
        yield served


def run(command: list[str], cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_node
def test_its_own_tests_pass_on_a_server(server: PageServer) -> None:
    assert NODE is not None
    said = run([NODE, "--test", "--test-reporter=tap"], CLIENT, MEMORY_URL=server.url, MEMORY_FACTS=str(FACTS))
    written = len(re.findall(r"^test\(", (CLIENT / "test/client.test.js").read_text(encoding="utf-8"), re.MULTILINE))
    assert re.findall(r"^# (?:pass|fail|skipped) (\d+)$", said, re.MULTILINE) == [str(written), "0", "0"]


@needs_node
def test_the_example_of_the_readme_runs(server: PageServer, tmp_path: Path) -> None:
    assert NODE is not None
    [example] = [one.text for one in blocks_of(CLIENT / "README.md") if one.language == "javascript"]
    assert [one.text for one in blocks("javascript", "docs/clients.md")] == [example]
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/react-mem-client").symlink_to(CLIENT)
    told = example.replace("http://127.0.0.1:2024", server.url).replace('"..."', '"reader"')
    (tmp_path / "example.mjs").write_text(told, encoding="utf-8")
    assert run([NODE, "example.mjs"], tmp_path) == "I live in Hanoi.\n"


@needs_node
@pytest.mark.skipif(TSC is None, reason="the TypeScript compiler (`tsc`) is not there: `npm ci` in clients/typescript")
def test_its_types_hold() -> None:
    assert TSC is not None
    run([TSC, "--project", "."], CLIENT)
