"""The README tells the truth: its picture, its commands, its code, its links."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from react_mem.agents.config import AgentConfig
from tests.contract.conftest import build_manager

ROOT = Path(__file__).parents[2]
CLI_TESTS = (ROOT / "tests" / "e2e" / "test_memory_cli.py").read_text(encoding="utf-8")
OTHER_COMMANDS = {
    name: (ROOT / "tests" / "integration" / f"test_{name}.py").read_text(encoding="utf-8")
    for name in ("context", "stats")
}
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_picture_is_the_graph() -> None:
    [picture] = blocks("mermaid")
    drawn = set(re.findall(r"(\w+) (-->|-\.->) (\w+);", picture))
    graph = build_manager("react_mem", ["x"]).get_graph()
    assert drawn == {(edge.source, "-.->" if edge.conditional else "-->", edge.target) for edge in graph.edges}


def test_every_command_is_a_target_that_exists_or_is_run_elsewhere() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for command in filter(None, "\n".join(blocks("bash")).splitlines()):
        match command.split():
            case ["make", target]:
                assert target in targets
            case ["cp", source, ".env"]:
                assert (ROOT / source).is_file()
            case [".venv/bin/react-mem", "memory", command, *_]:
                # run with their options in test_memory_cli.py
                assert f'"{command}"' in CLI_TESTS
            case [".venv/bin/react-mem", ("context" | "stats") as command, *_]:
                assert f'"{command}"' in OTHER_COMMANDS[command]
            case ["export", setting]:
                assert setting.startswith("DATABASE_URL=")
            case _:
                pytest.fail(f"nothing runs {command!r}")


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?://)([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_config_in_it_is_valid(tmp_path: Path) -> None:
    from react_mem.agents.config import load_agent_config_file

    whole, tools = blocks("yaml")
    path = tmp_path / "mine.yaml"
    path.write_text(whole, encoding="utf-8")
    assert isinstance(load_agent_config_file(path), AgentConfig)
    assert "tools:" in tools


async def test_the_python_in_it_runs(tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(blocks("python")[0], encoding="utf-8")
    hidden = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "DATABASE_URL", "EMBEDDING_MODEL"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, script],
        cwd=tmp_path,
        env={**environment, "REACT_MEM_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Mimi" in done.stdout.splitlines()[-1]
