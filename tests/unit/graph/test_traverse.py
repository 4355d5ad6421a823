"""Going through the graph: what is around, what matters, and how two memories are linked."""

from __future__ import annotations

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import Direction, reader
from react_mem.memory.graph.traverse import Subgraph, expand, page_rank
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Level
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.store.transactions import transact
from tests.support.linking import START, record, store_records

WORKED = {
    # a concept is used in a step, which led to an episode, which set off another step, which is about the concept
    "c13": ("semantic", "concept", [("s1", "semantic")]),
    "s1": ("experience", "experience", [("e5", "milestone")]),
    "e5": ("episodic", "episode", [("s2", "dependency")]),
    "s2": ("experience", "experience", [("c13", "support")]),
    "c14": ("semantic", "concept", []),
}


@pytest.fixture
async def worked() -> MemoryGraph:
    """The graph c13 -> s1 -> e5 -> s2 -> c13, and a concept that nothing is linked with."""
    store = InMemoryStore()
    values = [
        (
            scope,
            {
                "id": id_,
                "kind": kind,
                "text": f"what {id_} says",
                "created_at": START.isoformat(),
                "links": [{"to": to, "kind": why} for to, why in told],
            },
        )
        for id_, (scope, kind, told) in WORKED.items()
    ]

    async def step() -> tuple[None, list[Change]]:
        return None, [PutOp(("memory", "ann", scope), str(value["id"]), value, False) for scope, value in values]

    await transact(store, "ann", step)
    return MemoryGraph(store)


class TestWorkedExample:
    async def test_every_memory_leads_on_to_the_next_and_back_to_the_first(self, worked: MemoryGraph) -> None:
        way = ["c13"]
        for _ in range(4):
            [onward] = [e for e in await worked.neighbours("ann", way[-1]) if e.direction is Direction.OUT]
            way.append(onward.to)
        assert way == ["c13", "s1", "e5", "s2", "c13"]

    async def test_a_walk_round_it_ends_and_counts_the_nearest_most(self, worked: MemoryGraph) -> None:
        ranked = {node.id: rank for node, rank in await worked.rank("ann", {"c13": 1.0}, hops=4)}
        assert ranked.keys() == {"c13", "s1", "e5", "s2"}
        assert sum(ranked.values()) == pytest.approx(1, abs=1e-4)
        # both steps are a link away, the one that comes from it bound more strongly; the episode is two
        assert ranked["c13"] > ranked["s2"] > ranked["s1"]
        assert ranked["s2"] > ranked["e5"]

    async def test_the_shortest_explanation_in_words(self, worked: MemoryGraph) -> None:
        found = await worked.explain("ann", "c13", "e5")
        assert found is not None
        assert len(found.hops) == 2
        assert found.words.splitlines() in (
            [
                'concept "what c13 says" supports experience "what s2 says"',
                'experience "what s2 says" is needed for episode "what e5 says"',
            ],
            [
                'concept "what c13 says" is like experience "what s1 says"',
                'experience "what s1 says" was reached through episode "what e5 says"',
            ],
        )
        # by the stronger of two ways of the same length
        assert [hop.target.id for hop in found.hops] == ["s2", "e5"]

    async def test_what_has_nothing_to_do_with_it_is_not_explained(self, worked: MemoryGraph) -> None:
        assert await worked.explain("ann", "c13", "c14") is None
        assert await worked.explain("ann", "c13", "nobody") is None
        assert await worked.explain("bob", "c13", "e5") is None
        same = await worked.explain("ann", "c13", "c13")
        assert same is not None
        assert same.hops == ()


async def chain(length: int) -> MemoryGraph:
    store = InMemoryStore()
    await store_records(store, *(record("message", f"m{turn:02}", minute=turn) for turn in range(length)))
    return MemoryGraph(store)


async def test_an_expansion_goes_as_far_as_it_is_told() -> None:
    graph = await chain(9)
    for hops in (0, 1, 2, 3):
        part = await graph.expand("ann", {"m04": 1.0}, hops=hops)
        assert {node.id for node in part.nodes} == {f"m{turn:02}" for turn in range(4 - hops, 5 + hops)}
        assert part.nodes[0].id == "m04"


async def test_an_expansion_keeps_what_is_bound_most_strongly() -> None:
    store = InMemoryStore()
    await store_records(store, *(record("message", f"m{turn}", minute=turn) for turn in range(3)))
    await store_records(store, record("fact", "likes-tea", "m1"))
    graph = MemoryGraph(store)
    part = await graph.expand("ann", {"m1": 1.0}, max_nodes=2)
    assert {node.id for node in part.nodes} == {"m1", "likes-tea"}
    weak = await graph.expand("ann", {"m1": 0.08})
    assert {node.id for node in weak.nodes} == {"m1", "likes-tea"}
    assert (await graph.expand("ann", {"nobody": 1.0, "m1": 0.0})).nodes == []


async def test_a_round_trip_a_hop() -> None:
    store = InMemoryStore()
    await store_records(store, *(record("message", f"m{turn:02}", minute=turn) for turn in range(30)))
    reads = []
    read = reader(store, "ann")

    async def counted(ids):  # type: ignore[no-untyped-def]
        reads.append(len(ids))
        return await read(ids)

    await expand(counted, {"m10": 1.0, "m20": 1.0}, hops=2)
    assert reads == [2, 4, 4]


async def test_a_walk_is_the_same_every_time_and_favours_what_several_seeds_lead_to() -> None:
    store = InMemoryStore()
    await store_records(store, *(record("message", f"m{turn}", session=f"s{turn}") for turn in range(4)))
    await store_records(store, record("fact", "shared", "m0", "m1", "m2"), record("fact", "single", "m2", "m3"))
    graph = MemoryGraph(store)
    seeds = {"m0": 1.0, "m1": 1.0, "m2": 1.0}
    ranked = await graph.rank("ann", seeds)
    order = [node.id for node, _ in ranked]
    assert order.index("shared") < order.index("single") < order.index("m3")
    assert await graph.rank("ann", dict(reversed(seeds.items()))) == ranked
    assert await graph.rank("ann", {}) == []
    assert page_rank(Subgraph(), {"m0": 1.0}) == {}


async def test_how_a_fact_and_another_conversation_hang_together() -> None:
    memory = MemoryFacade(InMemoryStore())
    await store_records(memory.store, record("message", "m1", text="I moved to Hue"), record("message", "m2", minute=1))
    await store_records(
        memory.store,
        record("fact", "f", "m1", text="User lives in Hue"),
        record("episode", "e", "m2", level=Level.MILESTONE, text="Settled in"),
    )
    found = await MemoryGraph(memory.store).explain("ann", "f", "e")
    assert found is not None
    assert found.words == (
        'fact "User lives in Hue" comes from message "I moved to Hue"\n'
        'message "I moved to Hue" was followed by message "message m2"\n'
        'message "message m2" led to episode "Settled in"'
    )


async def test_what_has_expired_meanwhile_is_passed_over() -> None:
    store = InMemoryStore()
    await store_records(store, record("message", "m1"), record("fact", "f", "m1"))
    await store.adelete(scope_namespace("ann", "dialog"), "m1")  # type: ignore[arg-type]
    graph = MemoryGraph(store)
    assert [node.id for node in (await graph.expand("ann", {"f": 1.0})).nodes] == ["f"]
    assert [node.id for node, _ in await graph.rank("ann", {"f": 1.0})] == ["f"]
    assert (await graph.whole("ann")).links == ()
