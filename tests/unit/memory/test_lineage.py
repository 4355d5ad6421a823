"""Trust never rises: through facts, summaries, episodes, concepts, knowledge, skills, profile, export and import."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import origin_of
from react_mem.memory.model.operations import Operation, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy, SummarySettings
from react_mem.memory.model.profile_schema import ProfileValue
from react_mem.memory.model.records import Message, record_id
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.driver import run
from react_mem.memory.reflect.skill_learner import Learning
from react_mem.memory.scopes import steps_to_experience
from react_mem.memory.store.capabilities import everything
from react_mem.memory.write.chain import fold
from react_mem.memory.write.session import Session

AT = datetime(2026, 1, 2, tzinfo=UTC)
WHO: dict[str, Any] = {"session_id": "s", "agent_id": "a"}
THINGS = ("tea", "rice", "Mira", "Hue", "cats", "rain")
SUMMARIES = SummarySettings(n_sum=2, n_sum_sum=2, sum_window=2, max_sum_lvl=2)
POLICY = MemoryPolicy.model_validate({"summaries": SUMMARIES, "learning": {"knowledge": "rules"}})

RANK = {origin: place for place, origin in enumerate(Origin)}
origins = st.sampled_from(list(Origin))
messages = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), origins), min_size=2, max_size=8)
cited = st.lists(st.integers(0, 7), min_size=1, max_size=3)
facts = st.lists(st.tuples(st.sampled_from(THINGS), cited, origins), max_size=8)
fields = st.lists(st.tuples(st.sampled_from(["name", "home"]), st.sampled_from(THINGS), cited, origins), max_size=4)
tools = st.lists(st.sampled_from(["look", "web_search", "order"]), min_size=1, max_size=3)


def trusted_most(one: Origin, sources: Iterable[Origin]) -> bool:
    return all(RANK[one] >= RANK[source] for source in sources)


def rises(values: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records that are trusted more than something that they name as their source."""
    known = {value["id"]: origin_of(value) for value in values}

    def parts(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        yield value
        for entry in value.get("fields", {}).values():
            yield from (entry, *entry["previous"])

    return [
        part
        for value in values
        for part in parts(value)
        if not trusted_most(origin_of(part), (known[id_] for id_ in part.get("source_ids", ()) if id_ in known))
    ]


async def stored(memory: MemoryFacade, user: str) -> dict[str, dict[str, Any]]:
    return {item.key: item.value for item in await everything(memory.store, user)}


async def live(
    memory: MemoryFacade, told: Sequence[tuple[Any, Origin]], facts: Any, fields: Any, done: Sequence[str]
) -> None:
    """Let a memory come about as it does, with whatever origins."""
    records = [
        Message(
            **WHO,
            id=record_id("m", str(place)),
            text=f"I like {THINGS[place % 6]} number {place}.",
            content="",
            role=role,
            turn=place,
            origin=origin,
            created_at=AT + timedelta(hours=place),
        )
        for place, (role, origin) in enumerate(told)
    ]
    await memory.apply([put("ann", record) for record in records])
    said = {record.id: record for record in records}

    def ids(places: Sequence[int]) -> tuple[str, ...]:
        return tuple(records[place % len(records)].id for place in places)

    for thing, places, origin in facts:
        operation = Operation("new", f"I like {thing}", source_ids=ids(places), origin=origin)
        await write_facts(memory.store, "ann", [operation], at=AT + timedelta(days=1), said=said, **WHO)
    for name, thing, places, origin in fields:
        value = ProfileValue(value=thing, source_ids=ids(places), origin=origin, updated_at=AT)
        await memory.profile.update_profile("ann", {name: value})
    await fold(Session(memory, None, "ann", "s", "a"))
    sources = [id_ for id_, value in (await stored(memory, "ann")).items() if value["kind"] in ("message", "fact")]
    for scope, data in (
        (MemoryScope.EPISODIC, {"goal": "buy tea", "origin": "user", "source_ids": sources[:3]}),
        (MemoryScope.PROCEDURAL, {"use_when": "tea is bought", "source_ids": sources[-3:]}),
        (
            MemoryScope.DIALOG,
            {"kind": "summary", "id": "sum", "text": "x", "origin": "user", "source_ids": ids([0, 1])},
        ),
    ):
        await memory.write(MemoryWriteEvent(user_id="ann", scope=scope, data=data, **WHO))
    await run(Consolidation(memory.store, "ann", "a"))
    for turn in range(3):
        taken = [{"action": tool, "arguments": {"what": "tea"}, "observation": "x", "error": ""} for tool in done]
        steps = steps_to_experience(taken, session_id=f"s{turn}", agent_id="a", turn_id=f"t{turn}", task_type="shop")
        await memory.apply([put("ann", step, indexed=False) for step in steps])
    await run(Learning(memory, "ann", "a", ["look", "web_search", "order"]))


@settings(deadline=None, max_examples=25)
@given(messages, facts, fields, tools)
def test_trust_never_rises(told: Any, facts: Any, fields: Any, done: Any) -> None:
    async def check() -> None:
        memory = MemoryFacade(InMemoryStore(), POLICY)
        await live(memory, told, facts, fields, done)
        before = await stored(memory, "ann")
        assert rises(list(before.values())) == []
        # a skill heard what its steps did
        learnt = [value for value in before.values() if value["kind"] == "skill" and value["task_type"] == "shop"]
        assert all(trusted_most(origin_of(skill), map(origin_of_result, done)) for skill in learnt)
        there = MemoryFacade(InMemoryStore(), POLICY)
        await there.import_user("bob", [line async for line in memory.export_user("ann")])
        after = await stored(there, "bob")
        assert after.keys() == before.keys()
        assert all(trusted_most(origin_of(after[id_]), [origin_of(value)]) for id_, value in before.items())
        assert rises(list(after.values())) == []
        # nor by what is done with it there
        await run(Consolidation(there.store, "bob", "a"))
        await run(Learning(there, "bob", "a", ["look", "web_search", "order"]))
        assert rises(list((await stored(there, "bob")).values())) == []

    asyncio.run(check())


@pytest.mark.parametrize("said", ["user", "web"])
async def test_what_an_application_writes_is_trusted_no_more_than_its_sources(said: str) -> None:
    memory = MemoryFacade(InMemoryStore())
    await memory.apply(
        [
            put(
                "ann",
                Message(**WHO, id="m", text="x", content="x", role="user", turn=0, origin=said),
            )
        ]
    )
    given_ = {"kind": "summary", "id": "sum", "text": "x", "origin": "assistant", "source_ids": ["m", "unknown"]}
    await memory.write(MemoryWriteEvent(user_id="ann", scope=MemoryScope.DIALOG, data=given_, **WHO))
    episode = await memory.episodic.record("buy tea", user_id="ann", source_ids=["m"], **WHO)
    await memory.profile.update_profile("ann", {"home": "Hue"}, source_ids=["m"])
    step = {"task_id": "t", "text": "Buy tea", "status": "pending"}
    for data in ({**step, "source_ids": ["m"]}, step, {**step, "status": "done", "source_ids": ["m"]}):
        await memory.write(MemoryWriteEvent(user_id="ann", scope=MemoryScope.STATE, data=data, **WHO))
        [noted] = await memory.state.task_steps("t", user_id="ann", session_id="s")
        assert noted.origin == ("assistant" if said == "user" else "web")
    profile = await memory.profile.get_profile("ann")
    assert profile is not None
    found = await stored(memory, "ann")
    assert found["sum"]["origin"] == found[episode.id]["origin"] == ("assistant" if said == "user" else "web")
    assert profile.fields["home"].origin == profile.origin == said


async def test_only_the_user_takes_the_place_of_what_the_user_said_in_a_profile() -> None:
    memory = MemoryFacade(InMemoryStore())

    async def told(value: str, origin: Origin, day: int) -> str:
        new = ProfileValue(value=value, origin=origin, updated_at=AT + timedelta(days=day))
        update = await memory.profile.update_profile("ann", {"home": new})
        assert update.profile is not None
        return update.profile.fields["home"].value

    assert await told("Oslo", Origin.IMPORT, 1) == "Oslo"
    assert await told("Hue", Origin.USER, 2) == "Hue"
    assert await told("Rome", Origin.WEB, 3) == "Hue"
    assert await told("Da Nang", Origin.USER, 4) == "Da Nang"


async def test_a_fact_in_doubt_says_about_what_in_a_read() -> None:
    memory = MemoryFacade(InMemoryStore())
    live_in, doubted = (Operation("new", f"I live in {place}", source_ids=(place,)) for place in ("Hue", "Rome"))
    unsure = Operation("unsure", doubted.text, target_id=live_in.id, source_ids=("Rome",))
    await write_facts(memory.store, "ann", [live_in], at=AT, **WHO)
    await write_facts(memory.store, "ann", [unsure], at=AT + timedelta(days=2), **WHO)
    query = MemoryQuery(user_id="ann", scopes=[MemoryScope.SEMANTIC], **WHO)
    found = {item.payload["text"]: item for item in await memory.read(query)}
    [against] = found["I live in Hue"].doubts
    assert (against.text, against.since) == ("I live in Rome", "2026-01-04")
    # what is not among the results is looked up
    query.extra["seen"] = [found["I live in Rome"].id]
    [only] = await memory.read(query)
    assert [doubt.text for doubt in only.doubts] == ["I live in Rome"]
