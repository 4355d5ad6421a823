"""Standing instructions of the operator: what is read, when, what is refused, and that both managers are told."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import load_agent_config_file
from react_mem.agents.resolve import resolve_agent
from react_mem.agents.standing_files import StandingFiles, StandingInstructions
from react_mem.errors import AgentConfigError
from react_mem.testing import assert_forgets
from tests.support.scripted_model import ScriptedModel

RULE = "Always greet with NAMASTE."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "agents").mkdir(parents=True)
    (folder / "AGENTS.md").write_text(f"# Rules\n\n{RULE}\n", encoding="utf-8")
    return folder


@pytest.fixture
def agent(project: Path) -> Callable[..., Path]:
    """Write an agent's file."""

    def write(*files: str, manager: str = "react_mem", more: str = "", tokens: int = 2_000) -> Path:
        file = project / "agents" / "clerk.yaml"
        standing = f"{{files: [{', '.join(files)}], max_tokens: {tokens}}}"
        text = f"manager: {manager}\nsystem_prompt: You are a clerk.\nstanding_instructions: {standing}\n{more}"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def touch(file: Path, text: str) -> None:
    """Change a file so that it is seen, however fast: its clock may be coarse."""
    before = file.stat().st_mtime_ns
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


@pytest.mark.parametrize("manager", ["react", "react_mem"])
async def test_both_managers_are_told_and_nothing_of_it_is_remembered(
    manager: str, agent: Callable[..., Path], project: Path
) -> None:
    model = ScriptedModel(script=["NAMASTE."])
    store = InMemoryStore()
    ann = {"configurable": {"user_id": "ann", "thread_id": "1"}}
    file = agent("../AGENTS.md", manager=manager)
    async with open_agent(file, model=model, store=store, checkpointer=InMemorySaver()) as opened:
        await opened.ainvoke({"messages": [("user", "Hello, I am Ann.")]}, ann)
        told = model.prompts[0][0].text
        assert told.startswith("You are a clerk.\n\n")
        assert f'<standing_instructions file="AGENTS.md">\n# Rules\n\n{RULE}\n</standing_instructions>' in told
        assert str(project) not in told

        touch(project / "AGENTS.md", "Greet nobody.")
        await opened.ainvoke({"messages": [("user", "And now?")]}, ann)
        asked = next(prompt for prompt in reversed(model.prompts) if "You are a clerk." in prompt[0].text)
        assert "Greet nobody." in asked[0].text
        assert RULE not in asked[0].text
    await assert_forgets(store, "Always greet")
    await assert_forgets(store, "Greet nobody")


async def test_they_stand_behind_other_instructions_too(agent: Callable[..., Path]) -> None:
    file = agent("../AGENTS.md", more="overridable: [system_prompt]\n")
    model = ScriptedModel(script=["Yes."])
    blocks = SystemMessage([{"type": "text", "text": "Be a poet.", "cache_control": {"type": "ephemeral"}}])
    where = {"store": InMemoryStore(), "checkpointer": InMemorySaver()}
    async with open_agent(file, model=model, system_prompt=blocks, **where) as opened:
        await opened.ainvoke({"messages": [("user", "Hi")]}, {"configurable": {"thread_id": "1", "user_id": "ann"}})
        first = model.prompts[0][0]
        assert first.content[0] == blocks.content[0]
        assert RULE in first.text
        model.prompts.clear()
        given = {"user_id": "ann", "system_prompt": "Ignore every file."}
        await opened.ainvoke({"messages": [("user", "Hi")]}, {"configurable": {"thread_id": "2"}}, context=given)
        assert model.prompts[0][0].text.startswith("Ignore every file.")
        assert RULE in model.prompts[0][0].text


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        (["NO.md"], "NO.md cannot be read: No such file or directory; create it, or take it off the list"),
        (["BYTES.md"], "BYTES.md is not UTF-8"),
        (["HUGE.md"], "HUGE.md has more than 400,000 bytes"),
        (["FOLDER.md"], "FOLDER.md cannot be read"),
        (["../AGENTS.md", "LONG.md"], "tokens, of 2,000 at most; shorten them, or raise"),
    ],
)
def test_what_cannot_be_used_is_told_at_the_start(
    files: list[str], cause: str, agent: Callable[..., Path], project: Path
) -> None:
    (project / "agents" / "BYTES.md").write_bytes(b"\xff\xfe")
    (project / "agents" / "HUGE.md").write_text("x" * 400_001, encoding="utf-8")
    (project / "agents" / "FOLDER.md").mkdir()
    (project / "agents" / "LONG.md").write_text("Greet everybody. " * 2_000, encoding="utf-8")
    with pytest.raises(AgentConfigError, match=re.escape(cause)):
        resolve_agent(load_agent_config_file(agent(*files)))


@pytest.mark.parametrize("file", ["../../OUTSIDE.md", "/etc/OUTSIDE.md", "../LINK.md"])
def test_what_is_outside_of_the_project_is_refused(file: str, agent: Callable[..., Path], project: Path) -> None:
    (project.parent / "OUTSIDE.md").write_text("secret", encoding="utf-8")
    (project / "LINK.md").symlink_to(project.parent / "OUTSIDE.md")
    with pytest.raises(AgentConfigError, match=r"standing_instructions\.files: .* is outside of the project"):
        load_agent_config_file(agent(file))


async def test_what_becomes_unusable_leaves_in_force_what_was_read(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = project / "AGENTS.md"
    standing = StandingFiles(StandingInstructions(files=(file,), max_tokens=200))
    told = standing.load()
    file.unlink()
    assert await standing.text() == told
    assert "AGENTS.md cannot be read" in caplog.text
    file.write_text("Greet everybody. " * 200, encoding="utf-8")
    assert await standing.text() == told
    assert "200 at most" in caplog.text
    file.write_text("Greet nobody.", encoding="utf-8")
    assert "Greet nobody." in await standing.text()
