"""Going through the graph: what is around, what matters, and how two memories are linked."""

from __future__ import annotations

from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import reader
from react_mem.memory.graph.traverse import Subgraph, expand, page_rank
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Level
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from tests.support.linking import record, store_records


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
    assert [node.id for node in (await graph.expand("ann", {"m1": 1.0}, hops=0)).nodes] == ["m1"]


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
    assert await MemoryGraph(memory.store).explain("ann", "f", "nobody") is None
    assert await MemoryGraph(memory.store).explain("bob", "f", "e") is None
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
