"""`react-mem context` as people run it: the prompt for a question, without asking a model and without writing."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.cli import main
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from tests.e2e.test_terminal import Environment, environment, on_server, scripted, to
from tests.support.openai_server import OpenAIServer
from tests.support.scripted_model import ScriptedModel

__all__ = ["environment", "on_server", "scripted"]


class Terminal:
    """A terminal in which the command is run, in this process, which starts faster."""

    def __init__(self, settings: StorageSettings, capsys: pytest.CaptureFixture[str]) -> None:
        self.settings = settings
        self._capsys = capsys

    async def run(self, *arguments: str, code: int = 0) -> str:
        self._capsys.readouterr()
        done = await asyncio.to_thread(main, ["context", "--user", "ann", *arguments])
        output, errors = self._capsys.readouterr()
        assert done == code, errors
        return output if code == 0 else errors

    async def stored(self) -> list[Any]:
        """Return everything there is: memories and checkpoints."""
        async with open_storage(self.settings) as storage:
            memories = await MemoryFacade(storage.store).list_records("ann")
            saved = [found.config async for found in storage.checkpointer.alist(None)]
        return [*(item.payload for item in memories), *saved]


@pytest.fixture
async def terminal(
    scripted: Environment,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Terminal:
    """A terminal after a conversation."""
    for name in set(os.environ) - set(scripted):
        monkeypatch.delenv(name)
    for name, value in {"DATABASE_URL": scripted["DATABASE_URL"], **to(openai_server)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    settings = StorageSettings.model_validate({"database_url": scripted["DATABASE_URL"], "embedding": "local"})
    async with open_agent("assistant", settings=settings, model=ScriptedModel(script=["Noted."])) as agent:
        for text in ("My cat is called Mimi.", "What is my cat called?"):
            config: Any = {"configurable": {"thread_id": "monday"}}
            await agent.ainvoke({"messages": [("user", text)]}, config, context={"user_id": "ann"})
    return Terminal(settings, capsys)


async def test_the_prompt_for_the_next_question_is_shown_with_what_each_part_takes(
    terminal: Terminal, openai_server: OpenAIServer
) -> None:
    before = await terminal.stored()
    shown = await terminal.run("--thread", "monday", "--query", "And what does it eat?")
    assert shown.index("[system]") < shown.index("My cat is called Mimi.") < shown.index("And what does it eat?")
    rows = [line.split() for line in shown[shown.index("section ") :].splitlines()]
    assert {"system", "tools", "question", "conversation", "together"} <= {row[0] for row in rows}
    # what the model says of itself
    assert "of a window of 400,000," in shown
    # no model was asked, and nothing is there that was not
    assert openai_server.requests == []
    assert await terminal.stored() == before


async def test_as_json_the_sections_add_up_and_what_there_is_not_is_refused(terminal: Terminal) -> None:
    told = json.loads(await terminal.run("--thread", "tuesday", "--query", "What is my cat called?", "--json"))
    assert told["messages"][-1] == {"role": "human", "content": "What is my cat called?"}
    assert "My cat is called Mimi." in told["messages"][0]["content"]
    assert told["sections"]["memories"]["tokens"] > 0
    assert told["sections"]["conversation"]["tokens"] == 0
    used = sum(section["tokens"] for section in told["sections"].values())
    assert 0 < used <= told["window"]["tokens"] - told["window"]["answer"]
    # without a query the last question is asked once more
    again = json.loads(await terminal.run("--thread", "monday", "--json"))
    said = ["My cat is called Mimi.", "Noted.", "What is my cat called?"]
    assert [message["content"] for message in again["messages"][1:]] == said
    assert "monday" in await terminal.run("--thread", "nope", code=2)
    assert "manager react" in await terminal.run("--thread", "monday", "--agent", "plain", code=2)
