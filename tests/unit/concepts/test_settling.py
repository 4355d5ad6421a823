"""What names leave in doubt: settled by a model, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.llm.calls import Asker
from react_mem.memory.merging.concept_store import Names, load_concepts
from react_mem.memory.merging.named_entities import candidates
from react_mem.memory.model.records import Fact
from react_mem.memory.reflect.deduplication import EntityResolution
from react_mem.memory.reflect.driver import Report, run
from tests.support.scripted_model import ScriptedModel
from tests.unit.concepts.facts import fact
from tests.unit.concepts.test_concepts import names, write_facts

ACTOR = [fact("I met Arnold Schwarzenegger"), fact("I admire Arnold Schwarzeneger")]
SISTERS = [fact("my sister is Christina"), fact("is my boss", about="Christine")]
CITY = [fact("I live in HCMC"), fact("I was in Ho Chi Minh City")]
NAMED = [{"Arnold Schwarzenegger", "Arnold Schwarzeneger"}, {"Christina", "Christine"}]


def judge(same: list[str], different: list[str]) -> ScriptedModel:
    return ScriptedModel(script=[json.dumps({"same": same, "different": different})])


async def settle_concepts(store: InMemoryStore, model: ScriptedModel | None = None) -> Report:
    return await run(EntityResolution(store, "ann"), Asker([model], 5) if model is not None else None)


def asked(model: ScriptedModel) -> list[Any]:
    return [json.loads(line) for p in model.prompts for line in str(p[-1].content).splitlines() if line[0] == "{"]


@pytest.mark.parametrize(
    "facts",
    [
        [fact("my friend is Anna Schmidt"), fact("my boss is Anna Müller")],
        [fact("my friend is Hoàng Oanh"), fact("my boss is Hoãng Oanh")],
        [fact("I own an iPhone 14"), fact("I sold an iPhone 15")],
    ],
)
def test_what_speaks_against_being_one_leaves_no_doubt(facts: list[Fact]) -> None:
    assert candidates(Names.in_facts(facts, Names()).concepts()) == []


async def test_initials_and_letters_alone_merge_nothing() -> None:
    store = InMemoryStore()
    await write_facts(store, *ACTOR, *SISTERS, *CITY)
    await settle_concepts(store)
    assert len(await names(store)) == 6


async def test_a_model_settles_what_is_in_doubt_and_is_asked_once() -> None:
    store = InMemoryStore()
    await write_facts(store, *ACTOR, *SISTERS)
    model = judge(["p1"], ["p2"])

    settled = await settle_concepts(store, model)
    again = await settle_concepts(store, model)

    shown = asked(model)
    assert {frozenset((*pair["a"]["names"], *pair["b"]["names"])) for pair in shown} == {
        frozenset(named) for named in NAMED
    }
    told = {memory for pair in shown for side in (pair["a"], pair["b"]) for memory in side["memories"]}
    assert {"my sister is Christina", "about Christine: is my boss"} <= told
    assert (settled.calls, again.calls) == (1, 0)
    assert len(await names(store)) == 3
    merged = next(one for one in (await load_concepts(store, "ann")).values() if one.merged_from)
    assert {alias.name for alias in merged.aliases} in NAMED
    assert [merge.by for merge in merged.merged_from] == ["model"]


@pytest.mark.parametrize(
    "said",
    [
        lambda messages: (_ for _ in ()).throw(ConnectionError("down")),
        json.dumps({"same": ["p1"], "different": ["p1"]}),
        json.dumps({"same": ["p9", 4, None], "different": "p1"}),
    ],
)
async def test_what_a_model_does_not_say_changes_nothing(said: str | Callable[..., Any]) -> None:
    store = InMemoryStore()
    await write_facts(store, *ACTOR)
    await settle_concepts(store, ScriptedModel(script=[said]))
    assert len(await names(store)) == 2


async def test_what_two_verdicts_keep_apart_a_third_does_not_join() -> None:
    store = InMemoryStore()
    spelt = ("Arnold Schwarzenegger", "Arnold Schwarzeneger", "Arnold Schwarzenneger")
    await write_facts(store, *(fact(f"I met {name}") for name in spelt))
    model = judge(["p1", "p2"], ["p3"])
    await settle_concepts(store, model)
    assert len(asked(model)) == 3
    assert len(await names(store)) == 2
