"""A kind that nobody but the table knows is kept, found, shown, exported, imported and forgotten like any other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from react_mem.agents.terminal.memory import rank
from react_mem.memory.context.memories import render_memories
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import Direction, LinkKind
from react_mem.memory.merging.concepts.concept_store import refresh_concepts
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import KINDS, Kind, declare, searched_scopes
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.driver import run
from react_mem.memory.reflect.skills.learner import Learning
from react_mem.memory.retrieval.graph_reading import name_of
from tests.integration.memory.test_rights import lines, say
from tests.integration.memory.test_scopes import fill

MONDAY: dict[str, Any] = {"user_id": "ann", "session_id": "monday", "agent_id": "assistant"}
TUESDAY: dict[str, Any] = {**MONDAY, "session_id": "tuesday"}


class Dish(Record):
    """What somebody cooks."""

    kind: Literal["dish"] = "dish"
    name: str
    course: str = ""
    goes_with: tuple[str, ...] = ()
    current: Literal[True] = True


@pytest.fixture(autouse=True)
def dish() -> Iterator[Kind]:
    """The one place that knows the kind."""
    kind = Kind(Dish, MemoryScope.SEMANTIC, marks=("current", "course"), title=("name",), refers=("goes_with",))
    yield declare(kind)
    del KINDS[kind.name]


async def cook(memory: MemoryFacade, id_: str, text: str, **data: Any) -> None:
    whose = data.pop("whose", MONDAY)
    data = {"kind": "dish", "id": id_, "text": text, "name": id_.title(), **data}
    await memory.write(MemoryWriteEvent(**whose, scope=MemoryScope.SEMANTIC, data=data))


async def kept(memory: MemoryFacade, user_id: str = "ann") -> dict[str, dict[str, Any]]:
    return {one.id: one.payload for one in await memory.list_records(user_id) if one.source == "dish"}


async def test_it_is_kept_once_and_found(memory: MemoryFacade) -> None:
    await cook(memory, "pho", "Noodle soup with beef", course="main")
    await cook(memory, "pho", "Noodle soup with beef", course="main")
    await cook(memory, "che", "Sweet soup with beans", course="dessert")
    query = MemoryQuery(**TUESDAY, scopes=[MemoryScope.SEMANTIC], query="Noodle soup with beef")
    best, *_ = await memory.read(query)
    assert (best.id, best.source) == ("pho", "dish")
    # by a field of its own, in words and without
    for text in ("Sweet soup with beans", ""):
        [found] = await memory.semantic.search(text, {"course": "dessert"}, user_id="ann")
        assert found.id == "che"


async def test_what_it_is_not_is_told_by_its_fields(memory: MemoryFacade) -> None:
    with pytest.raises(ValueError, match="curse: is not a field of a dish; did you mean 'course'"):
        await cook(memory, "pho", "Noodle soup", curse="main")
    assert await kept(memory) == {}


async def test_it_is_shown(memory: MemoryFacade) -> None:
    await cook(memory, "pho", "Noodle soup with beef")
    [item] = await memory.list_records("ann")
    assert name_of(item.payload) == "Pho"
    assert "[dish " in render_memories([item], 500).text
    assert rank(item) < rank(item.model_copy(update={"source": "chain"}))


async def test_it_is_linked_with_what_it_is_from(memory: MemoryFacade) -> None:
    said = await say(memory, "monday", "We had soup")
    await cook(memory, "pho", "Noodle soup with beef", source_ids=[said])
    [edge] = await memory.graph.neighbours("ann", "pho")
    assert (edge.to, edge.kind, edge.direction) == (said, LinkKind.SUPPORT, Direction.OUT)
    drawn = await memory.graph.whole("ann")
    assert "Pho" in {node.name for node in drawn.nodes}


async def test_it_comes_back_from_an_export_and_vouches_for_nothing(memory: MemoryFacade) -> None:
    await cook(memory, "pho", "Noodle soup with beef", course="main")
    exported = await lines(memory)
    report = await memory.import_user("bob", exported)
    assert (report.added, report.kept) == (1, 0)
    assert await kept(memory, "bob") == {"pho": {**(await kept(memory))["pho"], "origin": Origin.IMPORT.value}}
    with pytest.raises(ValueError, match=r"line 2: memory scope semantic: .*nmae: is not a field of a dish"):
        await memory.import_user("eve", [exported[0], exported[1].replace('"name"', '"nmae"')])


async def test_it_goes_with_the_first_of_its_sources_and_leaves_what_named_it(memory: MemoryFacade) -> None:
    told = [await say(memory, session, "We had soup") for session in ("monday", "tuesday")]
    await cook(memory, "pho", "Noodle soup with beef", source_ids=told)
    await cook(memory, "che", "Sweet soup with beans", source_ids=told[1:], goes_with=("pho",), whose=TUESDAY)
    receipt = await memory.delete_session("ann", "monday")
    assert receipt.removed["dish"] == ("pho",)
    assert receipt.problems == ()
    [left] = (await kept(memory)).values()
    assert (left["id"], left["goes_with"]) == ("che", [])


async def test_it_goes_where_what_it_is_about_is_forgotten(memory: MemoryFacade) -> None:
    [fact] = await memory.semantic.add(["I am allergic to peanuts"], user_id="ann", session_id="monday", agent_id="a")
    await cook(memory, "pho", "Noodle soup with beef")
    await cook(memory, "sate", "Soup without peanuts, for the allergic", whose=TUESDAY)
    receipt = await memory.forget("ann", fact.id)
    assert receipt.removed["dish"] == ("sate",)
    assert receipt.problems == ()
    assert [*await kept(memory)] == ["pho"]


async def test_it_goes_with_its_owner(memory: MemoryFacade) -> None:
    await cook(memory, "pho", "Noodle soup with beef")
    receipt = (await memory.forget_user("ann")).receipt
    assert receipt.removed["dish"] == ("pho",)
    assert await kept(memory) == {}


def test_the_scopes_that_are_searched_follow_from_what_is_indexed(dish: Kind) -> None:
    assert MemoryScope.EXPERIENCE not in searched_scopes()
    declare(Kind(Dish, MemoryScope.EXPERIENCE))
    assert MemoryScope.EXPERIENCE in searched_scopes()
    declare(dish)


@pytest.mark.parametrize("scope", sorted({*MemoryScope} - {MemoryScope.PROFILE}))
async def test_beside_any_other_kind_it_is_in_nobodys_way(memory: MemoryFacade, scope: MemoryScope) -> None:
    declare(Kind(Dish, scope, marks=("current", "course"), title=("name",)))
    await fill(memory, "ann", "soup")
    before = await lines(memory)
    for place in (1, 2):
        data = {"kind": "dish", "id": "pho", "text": "Noodle soup with beef", "name": f"Pho {place}"}
        await memory.write(MemoryWriteEvent(**MONDAY, scope=scope, data=data))
    exported = await lines(memory)
    assert len(exported) == len(before) + 1
    assert set(before) < set(exported)
    # what reads a scope, finds no more than it knows
    await memory.read(MemoryQuery(**MONDAY, scopes=[*MemoryScope], query="Noodle soup", task_type="shop"))
    await memory.read(MemoryQuery(**MONDAY, scopes=[*MemoryScope]))
    assert (await memory.dialog.get_context("ann", "monday")).summary is None
    assert len((await memory.dialog.get_context("ann", "monday")).messages) == 2
    assert await memory.procedural.search_skills("shop", "soup", user_id="ann")
    await memory.episodic.record("Cook soup", outcome="eaten", **MONDAY)
    await memory.experience.turns("ann")
    await memory.graph.whole("ann")
    await refresh_concepts(memory.store, "ann")
    await run(Consolidation(memory.store, "ann", "assistant"))
    await run(Learning(memory, "ann", "assistant", ["buy"]))
    assert (await memory.import_user("bob", exported)).kept == 0
    assert (await memory.forget("ann", "pho")).removed == {"dish": ("pho",)}
    assert await kept(memory) == {}
