"""A session in memory, with hooks that fail, transcripts that lag behind, and residents that come and go."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from psycopg import OperationalError

from react_mem.agents.coding_hooks import hook_context
from react_mem.agents.coding_hooks.coding_session import CodingSession, NotKeptError
from react_mem.agents.coding_hooks.hook_memory import HookMemory
from react_mem.memory import MemoryFacade, MemoryPolicy
from react_mem.memory.context import count_tokens
from react_mem.memory.runtime import AgentMemory, Identity
from react_mem.memory.store.postgres import MemoryStore
from tests.support.coding_agent import answered, said

Session = Callable[[], CodingSession]


@pytest.fixture
def session(memory_store: MemoryStore) -> Session:
    """Make the session anew, as a resident does that has not seen it."""
    opened = HookMemory(AgentMemory("assistant", MemoryPolicy()), memory_store)
    return lambda: CodingSession(opened, Identity("ann", "s", threaded=False))


async def stored(store: BaseStore) -> list[str]:
    held = await MemoryFacade(store).dialog.get_context("ann", "s", 10_000)
    return [one.text for one in held.messages]


def write(path: Path, *entries: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_fails_everything_is_stored_once(
    seed: int, session: Session, memory_store: MemoryStore, tmp_path: Path
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    path = tmp_path / "t.jsonl"
    now = session()
    now.begun()
    expected: Counter[str] = Counter()
    late: list[dict[str, Any]] = []
    for number in range(12):
        # some of it is said again and again
        text = chance.choice([f"I have {number} cats.", "continue"])
        answer = chance.choice([f"Noted {number}.", "Done."])
        expected.update([text, answer])
        write(path, *late, said(text))
        late = [answered(answer)]
        if heard := chance.random() < 0.7:
            await now.prompt(text, f"p{number}" if chance.random() < 0.5 else "")
        if chance.random() < 0.3:
            await now.stop("", str(path))  # PreCompact in between
        if chance.random() < 0.7:
            write(path, *late)
            late = []
        await now.stop(answer, str(path))
        if chance.random() < 0.3:
            await now.stop(answer, str(path))
        if heard and chance.random() < 0.2:
            # as after a crash; what it had not seen yet in the transcript is there by then
            write(path, *late)
            late = []
            now = session()
            await now.stop(answer, str(path))
    write(path, *late)
    await now.stop("", str(path))
    assert Counter(await stored(memory_store)) == expected


async def test_a_database_that_fails_costs_nothing_but_the_moment(
    session: Session, memory_store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "t.jsonl", session()
    now.begun()
    await now.prompt("I live in Hue.", "")

    async def fail(*_: Any, **__: Any) -> Any:
        raise OperationalError("gone")

    with monkeypatch.context() as failing:
        for name in ("abatch", "abatch_if", "arecall"):
            failing.setattr(MemoryStore, name, fail)
        assert await now.prompt("I work in Hanoi.", "") == ""
        assert "gone" in str(now.problems)
        write(path, said("I live in Hue."), answered("Noted."), said("I work in Hanoi."), answered("Nice."))
        with pytest.raises((NotKeptError, OperationalError)):
            await now.stop("Nice.", str(path))
    await now.stop("Nice.", str(path))
    assert Counter(await stored(memory_store)) == Counter(["I live in Hue.", "Noted.", "I work in Hanoi.", "Nice."])


async def test_no_turn_leaves_another_behind_as_a_branch(session: Session, memory_store: MemoryStore) -> None:
    for number in range(4):
        # a new resident each time, and a prompt that was interrupted
        await session().prompt(f"I interrupt {number}.", "")
        await session().prompt(f"I have {number} cats.", "")
        await session().stop(f"Noted {number}.", "")
        await AgentMemory("assistant", MemoryPolicy()).turns(memory_store, Identity("ann", "s")).extract()
    told = [[f"I interrupt {number}.", f"I have {number} cats.", f"Noted {number}."] for number in range(4)]
    assert await stored(memory_store) == [text for turn in told for text in turn]


async def test_what_is_brought_is_below_what_both_agents_cut(session: Session, memory_store: MemoryStore) -> None:
    policy = MemoryPolicy.model_validate({"recall": {"max_memories": 100}, "context": {"memory_tokens": 20_000}})
    opened = HookMemory(AgentMemory("assistant", policy), memory_store)
    for number in range(30):
        who = Identity("ann", f"other {number}", threaded=False)
        other = CodingSession(opened, who)
        await other.prompt(f"My cat number {number} is called Mimi. " + "我的猫叫咪咪。" * 60, "")
        await other.stop("Hello.", "")
        await opened.agent.turns(memory_store, who).extract()
    told = await CodingSession(opened, Identity("ann", "s", threaded=False)).prompt("What are my cats called? 咪咪", "")
    assert "cat number" in told
    assert told.endswith("</memories>")
    assert len(told) <= hook_context.MAX_CHARS < 10_000
    assert count_tokens(told) <= hook_context.MAX_TOKENS < 2_500
