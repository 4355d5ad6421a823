"""Links follow from the records, whatever is written and removed in whatever order."""

from __future__ import annotations

import asyncio
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import MOST_LINKS, MOST_OTHERS, LinkKind
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.records import Level, Record
from react_mem.memory.store.transactions import transact
from tests.support.linking import assert_whole, documents, links, record, store_records

SESSIONS = ("monday", "tuesday", "friday")


async def test_links_follow_from_the_records() -> None:
    store = InMemoryStore()
    asked, answered = record("message", "asked", minute=0), record("message", "answered", minute=1)
    await store_records(store, asked, answered)
    step = record("experience", "step", "asked", minute=1)
    await store_records(store, step, record("fact", "likes-tea", "asked", minute=2))
    await store_records(store, record("summary", "s", "asked", "answered", minute=3))
    await store_records(store, record("episode", "e1", "answered", minute=4))
    await store_records(store, record("episode", "e2", "asked", level=Level.MILESTONE, minute=5))
    await store_records(store, record("skill", "sop", "step", minute=6))
    # of the same message
    came_up = {("likes-tea", "support", "step"), ("likes-tea", "milestone", "e2")}
    assert await links(store) == {
        ("asked", "timeline", "answered"),
        ("step", "support", "asked"),
        ("likes-tea", "support", "asked"),
        ("s", "summarization", "asked"),
        ("s", "summarization", "answered"),
        ("e1", "support", "answered"),
        ("e1", "timeline", "e2"),
        ("e2", "milestone", "asked"),
        ("e2", "milestone", "step"),
        ("sop", "support", "step"),
        *came_up,
    }
    await assert_whole(store)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
async def test_a_time_that_has_none_in_utc_stops_no_link(at: str) -> None:
    memory = MemoryFacade(InMemoryStore())
    await store_records(memory.store, record("message", "m"))
    odd = {**record("fact", "f", "m").to_value(), "created_at": at}
    await memory.store.aput(scope_namespace("ann", MemoryScope.SEMANTIC), "f", odd)
    await memory.import_user("bob", [line async for line in memory.export_user("ann")])
    assert await links(memory.store, "bob") == {("f", "support", "m")}


async def test_a_concept_is_linked_with_what_was_said_and_done_when_it_came_up() -> None:
    store = InMemoryStore()
    made = {
        "message": record("message", "m"),
        "fact": record("fact", "f", "m"),
        "concept": record("concept", "c", "f"),
        "step": record("experience", "s", "m"),
        "episode": record("episode", "e", "m", level=Level.MILESTONE),
    }
    for one in made.values():
        await store_records(store, one)
    id_ = made["concept"].id
    through_the_fact = {(id_, "support", "s"), (id_, "milestone", "e")}
    assert {link for link in await links(store) if link[0] == id_} == {(id_, "support", "f"), *through_the_fact}
    assert {link for link in await links(store) if link[0] == "f"} == {
        ("f", "support", "m"),
        ("f", "support", "s"),
        ("f", "milestone", "e"),
    }
    await assert_whole(store)
    await store_records(store, record("concept", "c", "another"))
    assert not {link for link in await links(store) if link[0] == id_}


async def test_what_takes_the_place_of_a_fact_and_what_a_step_waits_for() -> None:
    store = InMemoryStore()
    await store_records(store, record("fact", "old", superseded_by="new"), record("fact", "new"))
    assert await links(store) == {("old", "timeline", "new")}
    # believed again
    await store_records(store, record("fact", "old"), gone=[record("fact", "new")])
    assert await links(store) == set()
    await assert_whole(store)


async def test_what_a_fact_needs_is_linked_with_it_in_whatever_order_they_come() -> None:
    home, job = record("fact", "home"), record("fact", "job")
    commute = record("fact", "commute", needs=("home", "job", "nobody"))
    for order in permutations((home, job, commute)):
        store = InMemoryStore()
        for one in order:
            await store_records(store, one)
        # as reconciling does: the fact that needs others is written with them
        await store_records(store, commute, home, job)
        assert await links(store) == {("commute", "dependency", "home"), ("commute", "dependency", "job")}
        await assert_whole(store)
        await store_records(store, record("fact", "commute", needs=("job",)))
        assert await links(store) == {("commute", "dependency", "job")}
        await store_records(store, gone=[job])
        assert await links(store) == set()
        await assert_whole(store)


async def test_a_record_may_name_its_links() -> None:
    store = InMemoryStore()
    await store_records(store, record("fact", "fact"), record("task_step", "book"), record("summary", "s"))
    told = [{"to": "fact", "kind": "dependency", "weight": 0.5}, {"to": "fact", "kind": "timeline"}, {"to": "nobody"}]
    concept = {"id": "tea", "kind": "concept", "session_id": "monday", "links": [*told, "x", {"to": 1, "kind": 2}]}
    step = {**record("task_step", "pay").to_value(), "depends_on": ["book", "nobody"], "links": ["s"]}

    async def write() -> tuple[None, list[Change]]:
        ways = [(MemoryScope.SEMANTIC, concept), (MemoryScope.STATE, step)]
        return None, [PutOp(scope_namespace("ann", scope), str(value["id"]), value, False) for scope, value in ways]

    await transact(store, "ann", write)
    assert await links(store) == {
        ("tea", "dependency", "fact"),
        ("pay", "dependency", "book"),
        ("pay", "support", "s"),
    }
    [edge] = (await documents(store))["tea"].edges.values()
    assert edge.weight == 0.5
    await assert_whole(store)


async def test_a_line_is_closed_where_something_leaves_it_and_opened_where_something_comes_late() -> None:
    store = InMemoryStore()
    for turn in (1, 2, 4, 5):
        await store_records(store, record("message", f"m{turn}", minute=turn))
    await store_records(store, record("message", "m3", minute=3))
    line = {(f"m{turn}", "timeline", f"m{turn + 1}") for turn in range(1, 5)}
    assert await links(store) == line
    await store_records(store, gone=[record("message", "m2"), record("message", "m3")])
    assert await links(store) == {("m1", "timeline", "m4"), ("m4", "timeline", "m5")}
    await assert_whole(store)
    await store_records(store, gone=[record("message", f"m{turn}") for turn in (1, 4, 5)])
    assert await links(store) == set()


async def test_of_a_hub_the_strongest_and_latest_links_are_followed() -> None:
    store = InMemoryStore()
    await store_records(store, record("message", "hub"))
    facts = [record("fact", f"f{number:02}", "hub", minute=number) for number in range(MOST_OTHERS + 8)]
    await store_records(store, *facts)
    followed = (await documents(store))["hub"].edges.values()
    assert {edge.to for edge in followed} == {fact.id for fact in facts[8:]}
    assert await links(store) == {(fact.id, "support", "hub") for fact in facts}
    await assert_whole(store)


async def test_what_is_alike_is_linked_both_ways_the_most_alike_first() -> None:
    store = InMemoryStore()
    alike = {f"f{number:02}": number / 20 for number in range(1, 12)}
    others = [record("fact", id_) for id_ in alike]
    await store_records(store, record("fact", "f00", alike=alike), *others)
    strongest = {f"f{number:02}" for number in range(12 - MOST_LINKS[LinkKind.SEMANTIC], 12)}
    found = await documents(store)
    assert {(edge.to, str(edge.kind)) for edge in found["f00"].edges.values()} == {
        (id_, "semantic") for id_ in strongest
    }
    [back] = found["f11"].edges.values()
    assert (back.to, str(back.direction), back.weight) == ("f00", "both", 0.55)
    await store_records(store, gone=[others[-1]])
    assert ("f00", "semantic", "f11") not in await links(store)
    await assert_whole(store)


async def test_links_that_were_kept_once_are_no_memories_and_go_with_their_owner() -> None:
    memory = MemoryFacade(InMemoryStore())
    await store_records(memory.store, record("message", "m"))
    kept = {"kind": "links", "node": {"type": "message", "scope": "dialog"}, "edges": [["f", "semantic", "support"]]}
    await memory.store.aput(("memory", "ann", "links"), "m", kept)
    assert [item.id for item in await memory.list_records("ann")] == ["m"]
    assert not [line async for line in memory.export_user("ann") if "edges" in line]
    assert await links(memory.store) == set()
    await memory.forget_user("ann")
    assert await memory.store.asearch(("memory", "ann")) == []


async def test_nobody_elses_memories_are_linked() -> None:
    store = InMemoryStore()
    await store_records(store, record("message", "m"), user_id="bob")
    await store_records(store, record("fact", "f", "m"), user_id="ann")
    assert await links(store, "ann") == set()
    await store_records(store, gone=[record("message", "m")], user_id="ann")
    await assert_whole(store, "bob")


# --- whatever happens ---

kinds = st.sampled_from(
    ["message", "message", "fact", "concept", "summary", "episode", "skill", "experience", "task_step"]
)
actions = st.one_of(
    st.tuples(st.just("write"), kinds, st.integers(0, 2), st.lists(st.integers(0, 99), max_size=4), st.integers(0, 40)),
    st.tuples(st.just("rewrite"), st.integers(0, 99)),
    st.tuples(st.just("remove"), st.integers(0, 99)),
    st.tuples(st.just("forget"), st.integers(0, 2)),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(actions, min_size=3, max_size=20))
def test_no_sequence_of_writes_and_removals_leaves_a_loose_end(doing: list[Any]) -> None:
    asyncio.run(_do(doing))


async def _do(doing: list[Any]) -> None:
    memory = MemoryFacade(InMemoryStore())
    store = memory.store
    assert isinstance(store, InMemoryStore)
    written: list[Record] = []
    for number, (what, *how) in enumerate(doing):
        match what:
            case "write":
                kind, day, cited, minute = how
                # what is cited is there before it, or is nobody's record
                sources = [written[place % len(written)].id for place in cited if written] if kind != "message" else []
                more: dict[str, Any] = {"level": Level.MILESTONE} if kind == "episode" and minute % 2 else {}
                if kind == "fact" and minute % 3 == 0:
                    more["alike"] = {written[place % len(written)].id: 0.9 for place in cited if written}
                one = record(kind, f"{kind}-{number}", *sources, session=SESSIONS[day], minute=minute, **more)
                written.append(one)
                await store_records(store, one)
            case "rewrite" if written:
                before = await links(store)
                await store_records(store, written[how[0] % len(written)])
                assert await links(store) == before
            case "remove" if written:
                # what was said, and done for it, goes with its conversation alone
                one = written[how[0] % len(written)]
                if one.kind not in ("message", "experience", "task_step"):
                    # a concept that loses a fact is written anew
                    concerned = [other for other in written if other.kind == "concept" and one.id in other.source_ids]
                    await store_records(store, *(other for other in concerned if other != one), gone=[one])
            case "forget":
                await memory.delete_session("ann", SESSIONS[how[0]])
        left = {item.id: item.payload for item in await memory.list_records("ann")}
        written = [type(one).from_value(left[one.id]) for one in written if one.id in left]
        await assert_whole(store)
    await memory.forget_user("ann")
    assert await store.asearch(("memory", "ann"), limit=1000) == []
