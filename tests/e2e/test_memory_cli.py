"""`react-mem memory` as people run it."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.cli import main
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import fact_id
from react_mem.memory.opening import open_storage
from react_mem.memory.rights.forgetting import forget
from react_mem.memory.rights.hidden import Hiding
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.capabilities import everything
from react_mem.memory.write.turns import Turns
from tests.e2e.test_terminal import REACT_MEM, Environment, environment, on_server
from tests.support.imported import but_for_origin
from tests.support.telling import tell
from tests.support.terminal import AtTerminal

__all__ = ["environment", "on_server"]

pytestmark = pytest.mark.e2e

HUE, DA_NANG = "I live in Huế", "I live in Đà Nẵng"
ANN: dict[str, Any] = {"user_id": "ann", "session_id": "monday", "agent_id": "assistant"}


@pytest.fixture
async def filled(on_server: Environment) -> Environment:
    """A database in which Ann has told something to the assistant, and moved since."""
    settings = StorageSettings.model_validate({"database_url": on_server["DATABASE_URL"], "embedding": "local"})
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.store)
        await tell(storage.store, HUE, source_ids=["Huế"])
        await tell(storage.store, DA_NANG, "changes", HUE, source_ids=["Đà Nẵng"])
        await memory.dialog.append("ann", "monday", [HumanMessage("I moved", id="1")], agent_id="assistant")
        await memory.profile.update_profile("ann", {"name": "Lan\x1b[2J"})
    return on_server


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    stdout: str
    stderr: str


Run = Callable[..., Awaitable[Done]]


@pytest.fixture
def run(
    on_server: Environment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run a subcommand in this process, which starts faster."""
    for name in set(os.environ) - set(on_server):
        monkeypatch.delenv(name)
    monkeypatch.setenv("DATABASE_URL", on_server["DATABASE_URL"])
    monkeypatch.chdir(tmp_path)

    async def run_(*arguments: str, user: str = "ann", said: str = "", code: int = 0) -> Done:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said.encode())))
        capsys.readouterr()
        verb, *rest = arguments
        command = ["import"] if verb == "import" else ["memory", verb]
        assert await asyncio.to_thread(main, [*command, "--user", user, *rest]) == code, capsys.readouterr().err
        return Done(*capsys.readouterr())

    return run_


@pytest.fixture
def read(run: Run) -> Callable[..., Awaitable[Any]]:
    """Run a subcommand and read the JSON it prints."""

    async def read_(*arguments: str, user: str = "ann") -> Any:
        return json.loads((await run(*arguments, "--json", user=user)).stdout)

    return read_


async def test_what_is_remembered_is_listed_searched_and_shown(filled: Environment, run: Run, read: Run) -> None:
    listed = await read("list", "--scope", "semantic")
    facts = [item["payload"]["text"] for item in listed if item["source"] == "fact"]
    concepts = {item["payload"]["name"] for item in listed if item["source"] == "concept"}
    assert (facts, concepts) == ([DA_NANG, HUE], {"Đà Nẵng", "Huế"})
    plain = (await run("list")).stdout
    assert f"  {DA_NANG}" in plain
    assert f"  (past) {HUE}" in plain
    assert "name: Lan" in plain
    assert "\x1b" not in plain
    assert (await run("list", user="bob")).stdout.startswith("nothing of bob in PostgreSQL at ")
    # more than a policy lets into a prompt
    assert await read("search", "where do I live", "--scope", "semantic", "--limit", "500")
    first, *_ = await read("search", "where do I live", "--scope", "semantic", "--limit", "1")
    assert (first["payload"]["text"], first["source"]) == (DA_NANG, "fact")
    assert (await read("show", first["id"][:8]))["payload"] == first["payload"]
    assert "has no memory 'nope'" in (await run("show", "nope", code=2)).stderr


async def test_a_list_begins_with_facts_and_a_search_ends_with_questions(
    on_server: Environment, run: Run, read: Run
) -> None:
    settings = StorageSettings.model_validate({"database_url": on_server["DATABASE_URL"], "embedding": "local"})
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.store)
        await memory.semantic.add([{"text": "User keeps a cat", "source_ids": ["1"]}], **ANN)
        said = [HumanMessage("My cat sleeps all day.", id="2"), HumanMessage("Do I keep a cat?", id="1")]
        turns = Turns(memory, None, "ann", "monday", "assistant")
        await memory.dialog.append("ann", "monday", said, agent_id="assistant")
        await memory.apply([put("ann", turns.conversation(ended=False))])
        # from which something was drawn: written again, and said when it was said
        [drawn] = [one for one in await everything(storage.store, "ann") if one.value.get("text") == said[0].text]
        await storage.store.aput(drawn.namespace, drawn.key, {**drawn.value, "meta": {"read": True}})
    listed = await read("list")
    assert [item["source"] for item in listed] == ["fact", "message", "message"]
    # the latest first, and no question behind what was said before it
    assert [item["payload"]["text"] for item in listed[1:]] == ["Do I keep a cat?", "My cat sleeps all day."]
    assert "conversation" in [item["source"] for item in await read("list", "--scope", "state")]
    found = [item["payload"]["text"] for item in await read("search", "Do I keep a cat?")]
    assert found == ["User keeps a cat", "My cat sleeps all day.", "Do I keep a cat?"]
    [held] = await read("threads")
    assert (held["id"], held["agent"], held["messages"], held["about"]) == (
        "monday",
        "assistant",
        2,
        "My cat sleeps all day.",
    )
    assert "My cat sleeps all day." in (await run("threads")).stdout


async def test_one_memory_is_corrected_and_keeps_its_history(filled: Environment, run: Run, read: Run) -> None:
    [home] = [item for item in await read("list") if item["payload"]["text"] == DA_NANG]
    done = await read("correct", home["id"][:8], "I live in Hội An.")
    assert done["corrected"] == home["id"]
    believed = [item for item in await read("list") if item["source"] == "fact" and item["payload"]["current"]]
    assert [(item["id"], item["payload"]["text"]) for item in believed] == [(done["by"], "I live in Hội An.")]
    history = {fact["text"]: fact for fact in await read("history")}
    assert history[DA_NANG]["superseded_by"] == done["by"]
    assert "is not believed any more" in (await run("correct", home["id"], "Elsewhere I live", code=2)).stderr
    assert "states nothing" in (await run("correct", done["by"], "Where do I live?", code=2)).stderr
    assert "says already" in (await run("correct", done["by"], "I live in Hội An", code=2)).stderr
    [message] = [item for item in await read("list") if item["source"] == "message"]
    assert "only a fact can be corrected" in (await run("correct", message["id"], "No", code=2)).stderr
    assert "has no memory" in (await run("correct", "nope", "No", code=2)).stderr
    assert "has no memory" in (await run("correct", home["id"], "Mine now", user="bob", code=2)).stderr


async def test_one_memory_is_deleted_with_what_said_it(on_server: Environment, run: Run, read: Run) -> None:
    settings = StorageSettings.model_validate({"database_url": on_server["DATABASE_URL"], "embedding": "local"})
    async with open_agent("assistant", settings=settings) as agent:
        for text in ("I am allergic to penicillin. I live in Hue.", "Am I allergic to penicillin?"):
            config: Any = {"configurable": {"thread_id": "monday"}}
            await agent.ainvoke({"messages": [HumanMessage(text)]}, config, context={"user_id": "ann"})
    [fact] = [
        item for item in await read("list") if "penicillin" in item["payload"]["text"] and item["source"] == "fact"
    ]
    assert "say --yes" in (await run("delete", fact["id"], code=2)).stderr
    assert "has no memory" in (await run("delete", fact["id"], "--yes", user="bob", code=2)).stderr
    assert (await read("delete", fact["id"][:8], "--yes"))["messages"] == 2
    assert "penicillin" not in (await run("export")).stdout
    assert "I live in Hue." in (await run("list")).stdout


async def test_what_is_hidden_is_listed_brought_back_and_erased(filled: Environment, run: Run, read: Run) -> None:
    settings = StorageSettings.model_validate({"database_url": filled["DATABASE_URL"], "embedding": "local"})

    async def hide() -> str:
        async with open_storage(settings) as storage:
            await forget(storage.store, "ann", ids=[fact_id("user", DA_NANG)], hides=Hiding("assistant", ()))
        [one] = json.loads((await run("undo", "--json")).stdout)
        assert one["texts"] == [DA_NANG]
        return str(one["id"])

    assert f"brought back: {DA_NANG}" in (await run("undo", await hide())).stdout
    assert DA_NANG in (await run("list")).stdout
    assert (await read("undo", await hide(), "--erase"))["forgotten"]
    assert DA_NANG not in (await run("list")).stdout
    assert "0 of what is hidden of ann" in (await run("undo", "nope", code=2)).stderr


async def test_history_has_dates_and_pending_has_causes(filled: Environment, run: Run, read: Run) -> None:
    before, now = await read("history", "where did I live")
    assert (before["text"], before["current"], now["text"]) == (HUE, False, DA_NANG)
    assert before["valid_to"] == now["said_at"]
    over, holds = (await run("history")).stdout.splitlines()
    today = str(before["valid_to"])[:10]
    assert (over.count(today), holds.count(today)) == (2, 1)
    assert over.endswith(HUE)
    assert await read("pending") == []


async def test_search_and_history_as_of_a_time(filled: Environment, read: Run) -> None:
    before, now = await read("history")
    between = str(before["created_at"])
    assert [fact["text"] for fact in await read("history", "--as-of", between)] == [HUE]
    [then] = await read("search", "where did I live", "--scope", "semantic", "--as-of", between)
    assert (then["payload"]["text"], then["payload"]["current"], then["payload"]["valid_to"]) == (HUE, True, None)
    # a date means its end
    assert [fact["text"] for fact in await read("history", "--as-of", str(now["created_at"])[:10])] == [DA_NANG]
    assert await read("history", "--as-of", "2020-01-01") == []


async def test_an_export_comes_back_and_garbage_does_not(
    filled: Environment, run: Run, read: Run, tmp_path: Path
) -> None:
    whole = (await run("export")).stdout
    file = tmp_path / "ann.jsonl"
    assert (await read("export", str(file)))["exported"] == len(whole.splitlines()) - 1
    assert file.read_text(encoding="utf-8") == whole
    done = await read("import", str(file), user="bob")
    assert (done["added"], done["added"] + done["own_records"]) == (4, len(whole.splitlines()) - 1)
    taken = (await run("export", user="bob")).stdout
    assert but_for_origin(taken.splitlines()) == but_for_origin(whole.splitlines())
    said = (await run("import", "-", user="eve", said=whole + "garbage\n", code=2)).stderr
    assert f"line {len(whole.splitlines()) + 1}: is not JSON" in said
    assert "nothing was imported" in said
    assert (await run("list", user="eve")).stdout.startswith("nothing of eve")
    assert "cannot be read" in (await run("import", str(tmp_path / "none"), code=2)).stderr
    assert "cannot be written" in (await run("export", str(tmp_path / "no" / "x"), code=2)).stderr


async def test_forgetting_asks_and_reaches_the_thread(filled: Environment, run: Run, read: Run) -> None:
    settings = StorageSettings.model_validate({"database_url": filled["DATABASE_URL"], "embedding": "local"})
    async with open_agent("plain", settings=settings) as agent:
        config: Any = {"configurable": {"thread_id": "monday"}}
        await agent.ainvoke({"messages": [HumanMessage("I moved")]}, config)
    assert "say --yes" in (await run("forget", code=2)).stderr
    command = [REACT_MEM, "memory", "forget", "--user", "ann"]
    with AtTerminal(command, filled, Path.cwd()) as terminal:
        terminal.expect(r"\(yes/no\)")
        terminal.enter("no")
        terminal.expect("nothing was forgotten")
        assert terminal.exit_code() == 1
    listed = await read("list")
    assert listed
    await run("forget", "--session", "tuesday", "--yes")
    assert await read("list") == listed
    receipt = await read("forget", "--yes")
    assert (receipt["forgotten"], receipt["problems"]) == (["monday"], [])
    assert receipt["removed"]["fact"]
    assert {"scope semantic", "arm vector", "export", "threads"} <= {check["name"] for check in receipt["checks"]}
    assert await read("list") == []
    async with open_storage(settings) as storage:
        assert await storage.checkpointer.aget(config) is None


async def test_a_wrong_command_line_is_explained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "unknown agent 'nobody'" in (await run("list", "--agent", "nobody", code=2)).stderr
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:secret@127.0.0.1:1/x")
    said = (await run("list", code=2)).stderr
    assert "is not available" in said
    assert "secret" not in said
