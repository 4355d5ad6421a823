"""A session in memory, with hooks that fail, transcripts that lag behind, and residents that come and go."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from psycopg import OperationalError

from react_mem import OpenAgentMemory
from react_mem.integrations.coding_hooks import transcripts as hook_context
from react_mem.integrations.coding_hooks.coding_session import CodingSession, HookEvents, NotKeptError
from react_mem.integrations.coding_hooks.hook_client import _owe
from react_mem.integrations.coding_hooks.hook_place import HookPlace, place_of
from react_mem.integrations.coding_hooks.owed_notes import forget_owed, owe, owed_from
from react_mem.integrations.coding_hooks.transcripts import ToldEvent
from react_mem.memory import MemoryFacade, MemoryPolicy
from react_mem.memory.context import count_tokens
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.turns import AgentMemory, Identity, TurnMemory
from tests.support.coding_agent import answered, said

Session = Callable[[], CodingSession]


@pytest.fixture
def session(memory_store: MemoryStore, tmp_path: Path) -> Session:
    """Make the session anew, as a resident does that has not seen it."""
    opened = OpenAgentMemory(AgentMemory("assistant", MemoryPolicy()), memory_store)
    return lambda: CodingSession(opened, Identity("ann", "s", threaded=False), str(tmp_path))


async def stored(store: BaseStore) -> list[str]:
    held = await MemoryFacade(store).dialog.get_context("ann", "s", 10_000)
    return [one.text for one in held.messages]


def write(path: Path, *entries: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


def _notes(folder: Path) -> list[Path]:
    return [*folder.glob("*.owed")]


class _Agent:
    """A coding agent: what it tells by its hooks waits, and is worked off later, in whatever order.

    Args:
        seed: Of its chances.
        anew: Makes what works it off, as a resident does that has seen nothing.
        folder: Where its transcript is, and the notes of what is owed.
    """

    def __init__(self, seed: int, anew: Callable[[], HookEvents], folder: Path) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - no secret
        self.path = folder / "t.jsonl"
        self.path.touch()
        self._anew, self._events = anew, anew()
        self._waiting: list[tuple[dict[str, Any], ToldEvent]] = []
        self._clock = 0

    def tell(self, name: str, *, is_lost: bool = False, **fields: str) -> None:
        """Fire a hook; one that is lost fails in the client."""
        self._clock += 1
        size = self.path.stat().st_size
        event = {"hook_event_name": name, "session_id": "s", "transcript_path": str(self.path), **fields}
        if is_lost:
            _owe(HookPlace("", str(self.path.parent), ""), "ann", event, size)
        else:
            self._waiting.append((event, ToldEvent(self._clock, size)))

    async def work_off(self, *, keeping: int = 0) -> None:
        """Have what waits worked off, in any order, but for so many events, which come later still."""
        self.chance.shuffle(self._waiting)
        now, self._waiting = self._waiting[keeping:], self._waiting[:keeping]
        await asyncio.gather(*(self._events.answer("ann", event, told) for event, told in now))

    def crash(self) -> None:
        """Go on with another resident; what waits is lost with the one that there was, as the clients note."""
        for event, told in self._waiting:
            _owe(HookPlace("", str(self.path.parent), ""), "ann", event, told.transcript_bytes)
        self._waiting.clear()
        self._events = self._anew()


@pytest.fixture
def anew(memory_store: MemoryStore, tmp_path: Path) -> Callable[[], HookEvents]:
    """Make what works off the events anew."""
    opened = OpenAgentMemory(AgentMemory("assistant", MemoryPolicy()), memory_store)
    return lambda: HookEvents(opened, str(tmp_path))


@pytest.mark.parametrize("seed", [1, 110, 116, 130])
async def test_whatever_fails_and_however_late_everything_is_stored_once(
    seed: int, anew: Callable[[], HookEvents], memory_store: MemoryStore, tmp_path: Path
) -> None:
    agent = _Agent(seed, anew, tmp_path)
    chance = agent.chance.random
    agent.tell("SessionStart", source="startup", is_lost=chance() < 0.3)
    expected: Counter[str] = Counter()
    behind: list[dict[str, Any]] = []
    for number in range(12):
        # some of it is said again and again
        text = agent.chance.choice([f"I have {number} cats.", "continue"])
        answer = agent.chance.choice([f"Noted {number}.", "Done."])
        expected.update([text, answer])
        prompt = {"prompt": text} | ({"prompt_id": f"p{number}"} if chance() < 0.7 else {})
        is_lost = chance() < 0.25
        for _ in range(1 + (chance() < 0.2)):
            agent.tell("UserPromptSubmit", is_lost=is_lost, **prompt)
        if chance() < 0.4:
            await agent.work_off()
        write(agent.path, *behind, said(text))
        if chance() < 0.2:
            agent.tell("PreCompact")
        behind = [answered(answer)]
        if chance() < 0.7:
            # what is told of an answer is not yet in the transcript, or is
            write(agent.path, *behind)
            behind = []
        is_lost = chance() < 0.2
        for _ in range(1 + (chance() < 0.2)):
            agent.tell("Stop", is_lost=is_lost, last_assistant_message=answer)
        if chance() < 0.4:
            await agent.work_off(keeping=chance() < 0.3)
        if chance() < 0.1:
            # what the old one has seen and the transcript has not yet is there by then
            write(agent.path, *behind)
            behind = []
            agent.crash()
    write(agent.path, *behind)
    await agent.work_off()
    agent.tell("SessionEnd")
    await agent.work_off()
    assert Counter(await stored(memory_store)) == expected


async def test_what_another_resident_was_told_and_lost_is_caught_up(
    anew: Callable[[], HookEvents], memory_store: MemoryStore, tmp_path: Path
) -> None:
    agent = _Agent(0, anew, tmp_path)
    write(agent.path, said("I said this before."), answered("Before."))
    for number in range(3):
        agent.tell("UserPromptSubmit", prompt=f"Lamp {number}.", is_lost=number < 2)
        write(agent.path, said(f"Lamp {number}."), answered(f"A{number}"))
        agent.tell("Stop", last_assistant_message=f"A{number}", is_lost=number < 2)
    [note] = _notes(tmp_path)
    assert note.stat().st_mode & 0o777 == 0o600
    assert "Lamp" not in note.read_text() + note.name
    await agent.work_off()
    assert sorted(await stored(memory_store)) == ["A0", "A1", "A2", "Lamp 0.", "Lamp 1.", "Lamp 2."]
    assert not _notes(tmp_path)


async def test_what_is_forgotten_is_not_caught_up_by_a_note(
    anew: Callable[[], HookEvents], memory_store: MemoryStore, tmp_path: Path
) -> None:
    agent = _Agent(0, anew, tmp_path)
    agent.tell("SessionStart", source="startup")
    for number, text in enumerate(("I live in Hue.", "My secret is plugh.", "I have a cat.")):
        agent.tell("UserPromptSubmit", prompt=text)
        write(agent.path, said(text), answered(f"A{number}"))
        agent.tell("Stop", last_assistant_message=f"A{number}")
    await agent.work_off()
    await MemoryFacade(memory_store).forget_said("ann", "My secret is plugh.")
    agent.crash()
    # one that nobody came to remove
    agent.tell("SessionStart", source="startup", is_lost=True)
    agent.tell("SessionEnd")
    await agent.work_off()
    told = await stored(memory_store)
    assert "plugh" not in str(told)
    assert [text for text in told if text] == [*dict.fromkeys(text for text in told if text)]


def test_what_is_owed_is_forgotten_with_its_session_or_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    forget_owed("ann")
    place = place_of("assistant")

    def owed() -> list[tuple[str, str]]:
        sessions = [("ann", "one"), ("ann", "two"), ("ann*", "one"), ("bob", "one")]
        return [one for one in sessions if owed_from(place.folder, *one) is not None]

    for user, session_id in (("ann", "one"), ("ann", "two"), ("ann*", "one"), ("bob", "one")):
        owe(place.folder, user, session_id, 7)
    forget_owed("ann", "two")
    assert owed() == [("ann", "one"), ("ann*", "one"), ("bob", "one")]
    owe(place.folder, "ann", "two", 7)
    forget_owed("ann")
    assert owed() == [("ann*", "one"), ("bob", "one")]
    forget_owed("a")
    forget_owed("ann*")
    assert owed() == [("bob", "one")]


async def test_what_could_not_be_stored_before_all_was_forgotten_is_not_stored_behind_it(
    session: Session, memory_store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "t.jsonl", session()
    now.begun()
    await now.prompt("I have a cat.", "", ToldEvent())
    write(path, said("I have a cat."), answered("A0"))
    await now.stop("A0", str(path), ToldEvent())

    async def fail(self: TurnMemory, *_: Any) -> Any:
        raise OperationalError("gone")

    with monkeypatch.context() as failing:
        failing.setattr(TurnMemory, "begin", fail)
        failing.setattr(TurnMemory, "end", fail)
        with pytest.raises(OperationalError):
            await now.prompt("My secret is plugh.", "", ToldEvent())
        write(path, said("My secret is plugh."), answered("A1"))
        with pytest.raises(OperationalError):
            await now.stop("A1", str(path), ToldEvent())
    await MemoryFacade(memory_store).forget_user("ann")
    await now.prompt("I live in Hue.", "", ToldEvent())
    write(path, said("I live in Hue."), answered("A2"))
    await now.stop("A2", str(path), ToldEvent())
    assert await stored(memory_store) == ["I live in Hue.", "A2"]
    await now.prompt("And I like tea.", "", ToldEvent())
    write(path, said("And I like tea."), answered("A3"))
    await now.stop("A3", str(path), ToldEvent())
    assert await stored(memory_store) == ["I live in Hue.", "A2", "And I like tea.", "A3"]


async def test_a_database_that_fails_costs_nothing_but_the_moment(
    session: Session, memory_store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "t.jsonl", session()
    now.begun()
    await now.prompt("I live in Hue.", "", ToldEvent())

    async def fail(*_: Any, **__: Any) -> Any:
        raise OperationalError("gone")

    with monkeypatch.context() as failing:
        for name in ("abatch", "abatch_if", "arecall"):
            failing.setattr(MemoryStore, name, fail)
        assert await now.prompt("I work in Hanoi.", "", ToldEvent()) == ""
        assert "gone" in str(now.problems)
        write(path, said("I live in Hue."), answered("Noted."), said("I work in Hanoi."), answered("Nice."))
        with pytest.raises((NotKeptError, OperationalError)):
            await now.stop("Nice.", str(path), ToldEvent())
    await now.stop("Nice.", str(path), ToldEvent())
    assert Counter(await stored(memory_store)) == Counter(["I live in Hue.", "Noted.", "I work in Hanoi.", "Nice."])


async def test_what_is_brought_is_below_what_both_agents_cut(memory_store: MemoryStore, tmp_path: Path) -> None:
    policy = MemoryPolicy.model_validate({"recall": {"max_memories": 100}, "context": {"memory_tokens": 20_000}})
    opened = OpenAgentMemory(AgentMemory("assistant", policy), memory_store)
    for number in range(12):
        who = Identity("ann", f"other {number}", threaded=False)
        other = CodingSession(opened, who, str(tmp_path))
        await other.prompt(f"My cat number {number} is called Mimi. " + "我的猫叫咪咪。" * 150, "", ToldEvent())
        await other.stop("Hello.", "", ToldEvent())
        await opened.agent.turns(memory_store, who).extract()
    told = await CodingSession(opened, Identity("ann", "s", threaded=False), str(tmp_path)).prompt(
        "What are my cats called? 咪咪", "", ToldEvent()
    )
    assert "cat number" in told
    assert told.endswith("</memories>")
    assert len(told) <= hook_context.MAX_CHARS < 10_000
    assert count_tokens(told) <= hook_context.MAX_TOKENS < 2_500


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Can you sum up this mail?\n> I am allergic to shrimp.\n> Call me.", "began with] Can you sum up this mail?"),
        ("> I am allergic to shrimp.", "began with] (quoted) > I am allergic to shrimp."),
    ],
)
async def test_what_a_prompt_quoted_is_not_told_as_the_users(said: str, told: str) -> None:
    memory = MemoryFacade(InMemoryStore())
    await memory.dialog.append("ann", "earlier", [HumanMessage(said, id="m")], agent_id="assistant")
    shown = await hook_context.session_context(memory, "ann", "s", goes_on=False)
    assert told.replace(">", "›") in shown.replace(">", "›")
    assert ("shrimp" in shown) is ("quoted" in told)
