"""A kind that nobody but the table knows is kept, found, exported, imported and forgotten like any other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import Direction, LinkKind
from react_mem.memory.merging.concepts.concept_store import refresh_concepts
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import KINDS, Kind, declare
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.driver import run
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
    whose, scope = data.pop("whose", MONDAY), data.pop("scope", MemoryScope.SEMANTIC)
    data = {"kind": "dish", "id": id_, "text": text, "name": id_.title(), **data}
    await memory.write(MemoryWriteEvent(**whose, scope=scope, data=data))


async def kept(memory: MemoryFacade, user_id: str = "ann") -> dict[str, dict[str, Any]]:
    return {one.id: one.payload for one in await memory.list_records(user_id) if one.source == "dish"}


async def test_it_is_kept_once_found_linked_and_comes_back_from_an_export(memory: MemoryFacade) -> None:
    said = await say(memory, "monday", "We had soup")
    for _ in range(2):
        await cook(memory, "pho", "Noodle soup with beef", course="main", source_ids=[said])
    await cook(memory, "che", "Sweet soup with beans", course="dessert")
    best, *_ = await memory.read(MemoryQuery(**TUESDAY, scopes=[MemoryScope.SEMANTIC], query="Noodle soup with beef"))
    assert (best.id, best.source) == ("pho", "dish")
    # by a field of its own, in words and without
    for text in ("Sweet soup with beans", ""):
        [found] = await memory.semantic.search(text, {"course": "dessert"}, user_id="ann")
        assert found.id == "che"
    [edge] = await memory.graph.neighbours("ann", "pho")
    assert (edge.to, edge.kind, edge.direction) == (said, LinkKind.SUPPORT, Direction.OUT)
    assert "Pho" in {node.name for node in (await memory.graph.whole("ann")).nodes}
    exported = await lines(memory)
    assert (await memory.import_user("bob", exported)).added == 3
    vouched = {id_: {**value, "origin": Origin.IMPORT.value} for id_, value in (await kept(memory)).items()}
    assert await kept(memory, "bob") == vouched
    with pytest.raises(ValueError, match="curse: is not a field of a dish; did you mean 'course'"):
        await cook(memory, "bun", "Noodle soup", curse="main")


async def test_it_goes_with_the_first_of_its_sources_and_leaves_what_named_it(memory: MemoryFacade) -> None:
    told = [await say(memory, session, "We had soup") for session in ("monday", "tuesday")]
    await cook(memory, "pho", "Noodle soup with beef", source_ids=told)
    await cook(memory, "che", "Sweet soup with beans", source_ids=told[1:], goes_with=("pho",), whose=TUESDAY)
    receipt = await memory.delete_session("ann", "monday")
    assert (receipt.removed["dish"], receipt.problems) == (("pho",), ())
    [left] = (await kept(memory)).values()
    assert (left["id"], left["goes_with"]) == ("che", [])


async def test_it_goes_where_what_it_is_about_is_forgotten(memory: MemoryFacade) -> None:
    [fact] = await memory.semantic.add(["I am allergic to peanuts"], user_id="ann", session_id="monday", agent_id="a")
    await cook(memory, "pho", "Noodle soup with beef")
    await cook(memory, "sate", "Soup without peanuts, for the allergic", whose=TUESDAY)
    receipt = await memory.forget("ann", fact.id)
    assert (receipt.removed["dish"], receipt.problems) == (("sate",), ())
    assert [*await kept(memory)] == ["pho"]


@pytest.mark.parametrize("scope", [MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.STATE])
async def test_beside_any_other_kind_it_is_in_nobodys_way(memory: MemoryFacade, scope: MemoryScope) -> None:
    declare(Kind(Dish, scope, marks=("current", "course"), title=("name",)))
    await fill(memory, "ann", "soup")
    before = await lines(memory)
    await cook(memory, "pho", "Noodle soup with beef", scope=scope)
    assert set(before) < set(await lines(memory))
    # what reads a scope, finds no more than it knows
    await memory.read(MemoryQuery(**MONDAY, scopes=[*MemoryScope], query="Noodle soup", task_type="shop"))
    await memory.read(MemoryQuery(**MONDAY, scopes=[*MemoryScope]))
    assert len((await memory.dialog.get_context("ann", "monday")).messages) == 2
    await memory.graph.whole("ann")
    await refresh_concepts(memory.store, "ann")
    await run(Consolidation(memory.store, "ann", "assistant"))
    assert (await memory.forget("ann", "pho")).removed == {"dish": ("pho",)}
