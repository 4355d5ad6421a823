"""The plugins for coding agents: what they start exists, and they are of the version of the package."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from react_mem.agents.terminal.arguments import command_line
from react_mem.integrations.coding_hooks.hook_client import SECONDS
from react_mem.integrations.coding_hooks.hook_place import VERSION
from tests.support.documents import blocks

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CLAUDE_CODE, CODEX = ROOT / "plugins" / "claude-code", ROOT / "plugins" / "codex"
PLUGINS = {CLAUDE_CODE: ".claude-plugin", CODEX: ".codex-plugin"}


def read(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told


def hooks_of(plugin: Path) -> dict[str, list[dict[str, Any]]]:
    told: dict[str, list[dict[str, Any]]] = read(plugin / "hooks" / "hooks.json")["hooks"]
    return told


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_plugin_has_the_version_of_the_package_and_starts_its_commands(plugin: Path) -> None:
    manifest = read(plugin / PLUGINS[plugin] / "plugin.json")
    assert (manifest["name"], manifest["version"]) == (PROJECT["name"], PROJECT["version"])
    assert manifest["version"] == VERSION
    assert all((plugin / manifest[key]).is_file() for key in ("hooks", "mcpServers") if key in manifest)
    for event, groups in hooks_of(plugin).items():
        [[hook]] = [group["hooks"] for group in groups]
        program, *arguments = hook["command"].split()
        assert (hook["type"], program in PROJECT["scripts"]) == ("command", True)
        assert command_line().parse_args(arguments).command == "hook"
        # we give up before we are given up
        assert hook["timeout"] > SECONDS[event]
    [server] = read(plugin / ".mcp.json")["mcpServers"].values()
    # on the memory of the home folder, as the hooks
    assert (server["command"], server["args"][0]) == ("sh", "-c")
    assert server["args"][1].startswith("cd && exec ")
    program, *arguments = server["args"][1].removeprefix("cd && exec ").split()
    assert program in PROJECT["scripts"]
    assert command_line().parse_args(arguments).command == "mcp"


def test_each_agent_has_hooks_for_the_events_that_it_has() -> None:
    assert list(hooks_of(CLAUDE_CODE)) == list(SECONDS)
    # Codex has no end of a session
    assert list(hooks_of(CODEX)) == [event for event in SECONDS if event != "SessionEnd"]


def test_the_marketplaces_lead_to_the_plugins() -> None:
    [entry] = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    assert (ROOT / entry["source"]).resolve() == CLAUDE_CODE
    assert (entry["name"], entry["version"]) == (PROJECT["name"], PROJECT["version"])
    [entry] = read(ROOT / ".agents" / "plugins" / "marketplace.json")["plugins"]
    assert (ROOT / entry["source"]["path"]).resolve() == CODEX
    assert entry["name"] == PROJECT["name"]


def test_the_page_shows_the_hooks_of_the_plugin() -> None:
    [block] = blocks("json", "docs/coding_agents.md")
    assert json.loads(block.text)["hooks"] == hooks_of(CLAUDE_CODE)


def test_the_client_loads_nothing_that_takes_long() -> None:
    # a process of its own: this one has them all
    script = "import sys; from react_mem.agents.entry import main; sys.argv[1:] = ['hook']; main(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], input=b"{}", capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    ours = {name for name in loaded if name.startswith("react_mem.")}
    assert ours == {
        "react_mem._lazy",
        "react_mem.agents",
        "react_mem.integrations",
        "react_mem.integrations.coding_hooks",
        "react_mem.integrations.coding_hooks.hook_client",
        "react_mem.integrations.coding_hooks.hook_place",
        "react_mem.agents.entry",
        "react_mem.logged_in",
    }
    assert not loaded & {"argparse", "asyncio", "dataclasses", "inspect", "logging", "pydantic", "subprocess", "yaml"}
