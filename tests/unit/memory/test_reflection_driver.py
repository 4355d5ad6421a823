"""What every kind of reflection has from its driver: bounded calls, nothing of what was forgotten, one report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langgraph.store.base import Op
from langgraph.store.memory import InMemoryStore

from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.calls import Asker, ModelQuestion
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.receipt import Change, delete, put, write
from react_mem.memory.model.records import Fact
from react_mem.memory.reflect.driver import MAX_CALLS, Asked, Checked, Gathered, Report, Strategy, run
from react_mem.memory.store.capabilities import StoreCapabilities
from react_mem.memory.store.transactions import Guard
from tests.support.scripted_model import ScriptedModel
from tests.unit.concepts.facts import fact

TEA = fact("I like tea")


@dataclass(frozen=True)
class Line:
    """A fact to be, in these words."""

    text: str
    source_ids: tuple[str, ...]


@dataclass
class Echo(Strategy[Line]):
    """Draws what the model says of each of a few questions, from one fact."""

    questions: int = 1
    seen: list[Mapping[str, Any]] = field(default_factory=list)
    note_key = "echo"
    sources = (MemoryScope.SEMANTIC,)

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Line]:
        self.seen.append(noted)

        def read(said: Mapping[str, Any]) -> Checked[Line]:
            return Checked([Line(said["text"], (TEA.id,))], ["too long"])

        schema = object_schema({"text": {"type": "string"}}, "line", "A line.")
        asked = [
            Asked(ModelQuestion("deduplicate_facts", "", schema, read), [str(n)], [Line(f"plain {n}", (TEA.id,))])
            for n in range(self.questions)
        ]
        return Gathered([Line("counted", (TEA.id,))], asked, lambda keys: {"keys": list(keys)})

    async def merge(self, drafts: Sequence[Line], there: Mapping[str, dict[str, Any]], report: Report) -> list[Change]:
        report.stored += [draft.text for draft in drafts]
        return [put(self.user_id, fact(draft.text)) for draft in drafts]


async def keep(store: InMemoryStore, one: Fact = TEA) -> None:
    await write(store, [put("ann", one)])


async def noted(store: InMemoryStore) -> Any:
    item = await store.aget(meta_namespace("ann"), "echo")
    return item and item.value


def says(*texts: str) -> ScriptedModel:
    return ScriptedModel(script=[json.dumps({"text": text}) for text in texts])


async def test_without_a_model_what_was_found_is_merged() -> None:
    store = InMemoryStore()
    await keep(store)
    assert await run(Echo(store, "ann")) == Report(stored=["counted"])


async def test_a_run_asks_a_bounded_number_of_questions_and_notes_those_that_were_answered() -> None:
    store = InMemoryStore()
    await keep(store)
    model = says(*"abcdefgh")
    strategy = Echo(store, "ann", MAX_CALLS + 3)
    done = await run(strategy, Asker([model], 5))
    assert (done.calls, len(model.prompts)) == (MAX_CALLS, MAX_CALLS)
    assert done.stored == ["counted", *"abcdefgh"[:MAX_CALLS]]
    assert done.refused == ["too long"] * MAX_CALLS
    assert await noted(store) == {"keys": [str(n) for n in range(MAX_CALLS)]}
    await run(strategy)
    assert strategy.seen == [{}, {"keys": [str(n) for n in range(MAX_CALLS)]}]


@pytest.mark.parametrize(
    ("failure", "calls", "stored", "keys"),
    [
        ("no JSON", 3, ["counted", "a", "plain 1", "b"], ["0", "2"]),
        (ConnectionError("down"), 2, ["counted", "a", "plain 1", "plain 2"], ["0"]),
    ],
)
async def test_an_answer_that_cannot_be_read_is_passed_over_and_a_model_that_is_down_not_asked_again(
    failure: Any, calls: int, stored: list[str], keys: list[str]
) -> None:
    store = InMemoryStore()
    await keep(store)
    script = [json.dumps({"text": "a"}), failure, json.dumps({"text": "b"})]
    done = await run(Echo(store, "ann", 3), Asker([ScriptedModel(script=script)], 5))
    assert (done.calls, done.stored) == (calls, stored)
    assert done.problem
    assert await noted(store) == {"keys": keys}


async def test_nothing_comes_of_what_was_forgotten_while_the_model_thought() -> None:
    store = InMemoryStore()
    await keep(store)

    class Forgetful(ScriptedModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            await write(store, [delete("ann", FACT, TEA.id)])
            return self._generate(*args[:1])

    done = await run(Echo(store, "ann"), Asker([Forgetful(script=says("a").script)], 5))
    assert (done.calls, done.stored) == (1, [])


async def test_a_run_that_lost_a_race_reports_once() -> None:
    class Contended(InMemoryStore, StoreCapabilities):
        """Another writer is faster, once."""

        __slots__ = ("lost",)
        guards = True

        async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
            if not self.lost:
                self.lost = True
                return False
            await write(self, list(ops))  # type: ignore[arg-type]
            return True

    store = Contended()
    store.lost = False
    await keep(store)
    model = says("a")
    done = await run(Echo(store, "ann"), Asker([model], 5))
    assert store.lost
    assert (done.stored, done.calls, len(model.prompts)) == (["counted", "a"], 1, 1)
    assert done.refused == ["too long"]
