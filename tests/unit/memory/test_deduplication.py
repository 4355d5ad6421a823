"""Facts in other words become one where a model says so, and nothing of them is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.llm.calls import Asker
from react_mem.memory.merging.facts import load_facts, write_facts
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, fact_id, now
from react_mem.memory.reflect.deduplication import Deduplication
from react_mem.memory.reflect.driver import Report
from react_mem.memory.reflect.driver import run as reflect
from tests.support.databases import WordEmbeddings
from tests.support.scripted_model import ScriptedModel


def store() -> InMemoryStore:
    return InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})


async def say(memory: InMemoryStore, *texts: str, **more: Any) -> None:
    for text in texts:
        operation = Operation("new", text, source_ids=(f"said: {text}",), **more)
        await write_facts(memory, "ann", [operation], at=now(), session_id="s", agent_id="a")


async def run(memory: InMemoryStore, same: list[str]) -> tuple[Report, ScriptedModel]:
    model = ScriptedModel(script=[json.dumps({"same": same})])
    return await reflect(Deduplication(memory, "ann"), Asker([model], 5.0)), model


async def facts(memory: InMemoryStore, *texts: str) -> list[Fact]:
    stored = await load_facts(memory, "ann", (), [fact_id("user", text) for text in texts])
    return [stored[fact_id("user", text)] for text in texts]


async def test_what_is_the_same_becomes_a_wording_of_the_earlier_and_its_support() -> None:
    memory = store()
    await say(memory, "I work as a doctor", "I am a doctor at work", "I like tea")
    done, model = await run(memory, ["p1"])
    assert done.retired == ["I am a doctor at work"]
    kept, gone = await facts(memory, "I work as a doctor", "I am a doctor at work")
    assert (kept.current, kept.support, [one.text for one in kept.wordings]) == (True, 2, ["I am a doctor at work"])
    assert (gone.current, gone.superseded_by) == (False, kept.id)
    assert len(model.prompts) == 1
    [tea] = await facts(memory, "I like tea")
    assert (tea.current, tea.wordings) == (True, ())
    # nothing is new since
    again, asked = await run(memory, ["p1"])
    assert (again.calls, asked.prompts) == (0, [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I have 2 cats at home", "I have 3 cats at home"),
        ("I eat meat at home", "I do not eat meat at home"),
    ],
)
async def test_what_differs_in_a_number_or_a_denial_is_not_even_asked_about(one: str, other: str) -> None:
    memory = store()
    await say(memory, one, other)
    done, model = await run(memory, ["p1"])
    assert (done.retired, model.prompts) == ([], [])
    assert all(fact.current for fact in await facts(memory, one, other))


async def test_three_wordings_of_one_run_become_one_and_what_needs_them_follows() -> None:
    memory = store()
    said = ("I work as a doctor", "I am a doctor at work", "At work I am a doctor")
    await say(memory, *said)
    await say(memory, "My commute is short", needs=(fact_id("user", said[2]),))
    done, _ = await run(memory, ["p1", "p2", "p3"])
    assert sorted(done.retired) == sorted(said[1:])
    kept, *gone = await facts(memory, *said)
    assert (kept.current, kept.support, {one.text for one in kept.wordings}) == (True, 3, set(said[1:]))
    assert not any(fact.current for fact in gone)
    [commute] = await facts(memory, "My commute is short")
    assert (commute.needs, commute.doubts) == ((kept.id,), ())


async def test_what_the_model_does_not_name_stays_two() -> None:
    memory = store()
    await say(memory, "I work as a doctor", "I am a doctor at work")
    done, _ = await run(memory, ["p7"])
    assert (done.retired, done.calls) == ([], 1)
    assert all(fact.current for fact in await facts(memory, "I work as a doctor", "I am a doctor at work"))


@pytest.mark.parametrize("others_first", [True, False])
async def test_of_what_others_say_too_the_users_own_is_kept_as_it_is(others_first: bool) -> None:
    memory = store()
    theirs, others = ("I work as a doctor", {}), ("I am a doctor at work", {"origin": Origin.IMPORT})
    for text, more in (others, theirs) if others_first else (theirs, others):
        await say(memory, text, **more)
    done, model = await run(memory, ["p1"])
    assert (done.retired, len(model.prompts)) == ([others[0]], 1)
    kept, gone = await facts(memory, theirs[0], others[0])
    assert (kept.current, kept.origin, kept.support) == (True, Origin.USER, 1)
    assert (gone.current, gone.superseded_by, gone.origin) == (False, kept.id, Origin.IMPORT)


async def test_what_two_others_say_is_left_apart() -> None:
    memory = store()
    await say(memory, "I work as a doctor", origin=Origin.TOOL)
    await say(memory, "I am a doctor at work", origin=Origin.IMPORT)
    done, model = await run(memory, ["p1"])
    assert (done.retired, model.prompts) == ([], [])


async def test_no_pair_is_passed_over_where_many_facts_are_written_at_once() -> None:
    memory = store()
    things = [f"{first}{second}" for first in "bdfgklmn" for second in ("ado", "emi", "oru", "upa", "ixe")]
    said = [text for thing in things for text in (f"I collect old {thing}", f"Old {thing} I collect")]
    operations = [Operation("new", text, source_ids=(f"said: {text}",)) for text in said]
    await write_facts(memory, "ann", operations, at=now(), session_id="s", agent_id="a")
    asked: list[str] = []
    calls = 1
    while calls:
        done, model = await run(memory, [])
        asked += map(str, model.prompts)
        calls = done.calls
    assert [text for text in said if not any(text in prompt for prompt in asked)] == []
