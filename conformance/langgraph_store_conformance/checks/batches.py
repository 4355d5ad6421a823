"""Checks of batches: mixed operations, their order, and several of one item."""

from __future__ import annotations

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_store_conformance.checks.shown import Space, keys, value_of


class BatchChecks:
    """Several operations at once."""

    async def test_an_empty_batch(self, store: BaseStore) -> None:
        assert list(await store.abatch([])) == []

    async def test_results_come_in_the_order_of_operations(self, store: BaseStore, space: Space) -> None:
        for name in ("a", "b", "c"):
            await store.aput(space, name, {"name": name})
        order = ["c", "a", "missing", "b", "a"]
        results = await store.abatch([GetOp(space, key) for key in order])
        found = [result.value["name"] if isinstance(result, Item) else None for result in results]
        assert found == ["c", "a", None, "b", "a"]

    async def test_operations_of_every_kind_in_one_batch(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "old", {"n": 1})
        below = (*space, "below")
        got, put, found, listed, nothing = await store.abatch(
            [
                GetOp(space, "old"),
                PutOp(below, "new", {"n": 2}),
                SearchOp(space, filter={"n": 1}),
                ListNamespacesOp(match_conditions=(MatchCondition("prefix", space),)),
                GetOp(space, "missing"),
            ]
        )
        assert isinstance(got, Item)
        assert got.value == {"n": 1}
        assert put is None
        assert isinstance(found, list)
        assert keys(found) == ["old"]  # type: ignore[arg-type]
        assert isinstance(listed, list)
        assert space in listed
        assert nothing is None
        assert await value_of(store, below, "new") == {"n": 2}

    async def test_reads_of_a_batch_see_what_was_there_before_its_writes(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 1})
        results = await store.abatch([PutOp(space, "tea", {"n": 2}), GetOp(space, "tea")])
        assert isinstance(results[1], Item)
        assert results[1].value == {"n": 1}
        assert await value_of(store, space, "tea") == {"n": 2}

    async def test_the_last_write_of_an_item_counts(self, store: BaseStore, space: Space) -> None:
        await store.abatch([PutOp(space, "tea", {"n": n}) for n in range(5)])
        assert await value_of(store, space, "tea") == {"n": 4}

    async def test_delete_then_put_in_one_batch_is_there(self, store: BaseStore, space: Space) -> None:
        await store.abatch([PutOp(space, "tea", {"n": 1}), PutOp(space, "tea", None), PutOp(space, "tea", {"n": 2})])
        assert await value_of(store, space, "tea") == {"n": 2}

    async def test_put_then_delete_in_one_batch_is_gone(self, store: BaseStore, space: Space) -> None:
        await store.abatch([PutOp(space, "tea", {"n": 1}), PutOp(space, "tea", None)])
        assert await store.aget(space, "tea") is None

    async def test_the_same_read_twice_in_a_batch(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 1})
        first, second, *found = await store.abatch(
            [GetOp(space, "tea"), GetOp(space, "tea"), SearchOp(space), SearchOp(space)]
        )
        assert isinstance(first, Item)
        assert isinstance(second, Item)
        assert first.value == second.value == {"n": 1}
        assert [keys(each) for each in found] == [["tea"], ["tea"]]  # type: ignore[arg-type]

    async def test_reads_of_several_namespaces_in_one_batch(self, store: BaseStore, space: Space) -> None:
        ann, bob = (*space, "ann"), (*space, "bob")
        await store.abatch([PutOp(ann, "k", {"of": "ann"}), PutOp(bob, "k", {"of": "bob"})])
        results = await store.abatch([GetOp(bob, "k"), GetOp(ann, "k"), GetOp((*space, "eve"), "k")])
        assert [isinstance(one, Item) and one.value["of"] for one in results] == ["bob", "ann", False]

    async def test_a_batch_of_a_thousand_writes(self, store: BaseStore, space: Space) -> None:
        await store.abatch([PutOp(space, str(n), {"n": n}, index=False) for n in range(1_000)])
        results = await store.abatch([GetOp(space, str(n)) for n in range(1_000)])
        assert [isinstance(one, Item) and one.value["n"] for one in results] == list(range(1_000))
        await store.abatch([PutOp(space, str(n), None) for n in range(1_000)])
        assert await store.asearch(space) == []
