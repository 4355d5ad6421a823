"""Whatever the timing: a message that is stored is found, or a note says that it is still to be indexed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import ExistingMemory, Extraction, Operation, TranscriptMessage
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store import process_state, transactions
from react_mem.memory.write import session as claiming
from react_mem.memory.write.turns import Turns, last_id
from tests.support.schedules import Choice, GatedStore, GuardedGatedStore, Schedule

SAID = ["I like tea.", "Noted.", "ok", "ok"]
"""Two turns, the second of which is answered in the user's own words."""

WORKERS = ("first", "second")


class GatedReader:
    """A model that answers when the schedule lets it."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        **_: Any,
    ) -> Extraction:
        await self._schedule.gate()
        teas = tuple(message.id for message in messages if "tea" in message.text)
        operation = Operation("new", "I like tea.", source_ids=teas)
        return Extraction(ops=(operation,) if teas else (), summary="They spoke of tea.")


class Separate(dict[Any, asyncio.Lock]):
    """The locks of processes that know nothing of each other."""

    def setdefault(self, key: Any, default: Any = None) -> asyncio.Lock:
        return asyncio.Lock()


def thread(count: int) -> list[BaseMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[place % 2](text, id=f"m{place}") for place, text in enumerate(SAID[:count])]


class Conversation:
    """A user who talks while workers draw from what was said."""

    def __init__(self, store: GatedStore, **policy: Any) -> None:
        self.store = store
        self.memory = MemoryFacade(store, MemoryPolicy.model_validate(policy))
        self.turns = Turns(self.memory, GatedReader(store.schedule), "ann", "1", "tester")

    async def talk(self, first: int = 0) -> None:
        since = last_id(thread(first))
        for said in range(first + 1, len(SAID) + 1):
            # the user's messages before the answer, the answers after it
            await (self.turns.open if said % 2 else self.turns.close)(thread(said), since)
            since = last_id(thread(said))

    def lost(self) -> set[str]:
        """Return the messages that nothing finds and that nobody is to index."""
        dialog = scope_namespace("ann", MemoryScope.DIALOG)
        stored = {key for key, value in self.store.held(dialog).items() if value["kind"] == "message"}
        notes = self.store.held(PENDING.namespace("ann")).values()
        return stored - self.store.indexed(dialog) - {source for note in notes for source in note["source_ids"]}

    def nothing_is_lost(self) -> None:
        assert self.lost() == set()

    async def settle(self) -> None:
        """Draw from whatever still waits, with nobody else there, and check that it was everything."""
        for _ in range(4):
            await self.turns.extract()
        self.nothing_is_lost()
        dialog = self.store.held(scope_namespace("ann", MemoryScope.DIALOG)).values()
        assert sorted(value["text"] for value in dialog if value["kind"] == "message") == sorted(SAID)
        assert self.store.held(PENDING.namespace("ann")) == {}
        facts = self.store.held(scope_namespace("ann", MemoryScope.SEMANTIC)).values()
        assert ("I like tea.", False) in [(value["text"], value["verbatim"]) for value in facts]


def make(store: type[GatedStore], monkeypatch: pytest.MonkeyPatch, **policy: Any) -> Conversation:
    if store is GuardedGatedStore:
        # what such a store promises, it promises between processes
        monkeypatch.setattr(process_state, "_LOCKS", Separate())
    monkeypatch.setattr(transactions, "_LONGEST_WAIT", 0)
    schedule = Schedule()

    async def in_turn(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Work in another thread, which takes as long as the schedule wants."""
        await schedule.gate()
        return work(*arguments, **named)

    monkeypatch.setattr(asyncio, "to_thread", in_turn)
    return Conversation(store(schedule), **policy)


def contiguous(before: int, move: str = "go") -> Iterable[Choice]:
    """Let the worker go on a few gates, then everybody else to their end, and then the worker again, or no more."""
    yield from ((0, "go") for _ in range(before))
    yield (0, "cancel") if move == "cancel" else (1, "go")
    yield from ((1, "go") for _ in range(200))


@pytest.mark.parametrize(
    ("store", "already", "move"),
    [(GatedStore, 1, "cancel"), (GatedStore, 3, "go"), (GuardedGatedStore, 1, "go"), (GuardedGatedStore, 3, "cancel")],
)
async def test_an_answer_that_comes_at_any_moment_of_an_extraction_is_not_lost(
    store: type[GatedStore], already: int, move: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates, before = 1, 0
    while before < gates:
        one = make(store, monkeypatch)
        for said in range(1, already + 1):
            await (one.turns.open if said % 2 else one.turns.close)(thread(said), last_id(thread(said - 1)))
        actors = {"first": one.turns.extract, "user": lambda one=one: one.talk(already)}
        await one.store.schedule.run(
            actors, contiguous(before, move), may_be_cancelled=WORKERS, after_each=one.nothing_is_lost
        )
        gates = max(gates, one.store.schedule.passed.get("first", 0)) if move == "go" else 60
        if move == "go":
            await one.settle()
        before += 1
    assert before > 20


_choices = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["go", "go", "go", "go", "go", "go", "go", "go", "cancel"])),
    max_size=120,
)


@pytest.mark.parametrize("claims", ["kept", "run out"])
@pytest.mark.parametrize("extraction", ["background", "off"])
@pytest.mark.parametrize("store", [GatedStore, GuardedGatedStore])
@given(choices=_choices)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_is_lost_in_any_order_of_a_user_and_two_workers_of_whom_some_are_cancelled(
    store: type[GatedStore], extraction: str, claims: str, choices: list[Choice]
) -> None:
    async def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            if claims == "run out":
                # each worker may take over what the other one is at
                patch.setattr(claiming, "_CLAIM_MARGIN", -1_000_000.0)
            one = make(store, patch, extraction={"mode": extraction})
            actors = {"user": one.talk, "first": one.turns.extract, "second": one.turns.extract}
            await one.store.schedule.run(actors, choices, may_be_cancelled=WORKERS, after_each=one.nothing_is_lost)

    asyncio.run(run())
