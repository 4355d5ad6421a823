"""Checks of `list_namespaces`: prefix, suffix, wildcards, depth, pages."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from langgraph_store_conformance.checks.shown import Space

_TAILS = [("a", "b", "c"), ("a", "b", "e"), ("a", "d", "c"), ("f", "b", "c"), ("g",)]


class ListingChecks:
    """Namespaces that hold something."""

    async def test_namespaces_by_prefix(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        assert await _listed(store, space, prefix=("a",)) == [("a", "b", "c"), ("a", "b", "e"), ("a", "d", "c")]
        assert await _listed(store, space, prefix=("a", "b")) == [("a", "b", "c"), ("a", "b", "e")]
        assert await _listed(store, space, prefix=("nobody",)) == []

    async def test_namespaces_by_suffix(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        assert await _listed(store, space, suffix=("c",)) == [("a", "b", "c"), ("a", "d", "c"), ("f", "b", "c")]
        assert await _listed(store, space, suffix=("b", "c")) == [("a", "b", "c"), ("f", "b", "c")]

    async def test_namespaces_by_prefix_and_suffix(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        assert await _listed(store, space, prefix=("a",), suffix=("e",)) == [("a", "b", "e")]

    async def test_a_wildcard_in_a_prefix(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        assert await _listed(store, space, prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "d", "c")]
        assert await _listed(store, space, prefix=("*", "b")) == [("a", "b", "c"), ("a", "b", "e"), ("f", "b", "c")]

    async def test_a_wildcard_in_a_suffix(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        assert await _listed(store, space, suffix=("b", "*")) == [("a", "b", "c"), ("a", "b", "e"), ("f", "b", "c")]

    async def test_a_wildcard_stands_for_one_label(self, store: BaseStore, space: Space) -> None:
        await store.aput((*space, "a", "c"), "k", {"n": 1})
        await store.aput((*space, "a", "b", "c"), "k", {"n": 1})
        await store.aput((*space, "a", "b", "b", "c"), "k", {"n": 1})
        assert await _listed(store, space, prefix=("a", "*", "c")) == [("a", "b", "c")]

    async def test_a_prefix_matches_whole_labels(self, store: BaseStore, space: Space) -> None:
        for label in ("a", "ab", "a%", "a_"):
            await store.aput((*space, label, "x"), "k", {"n": 1})
        for label in ("a", "a%", "a_"):
            assert await _listed(store, space, prefix=(label,)) == [(label, "x")]

    async def test_a_suffix_matches_whole_labels(self, store: BaseStore, space: Space) -> None:
        for label in ("c", "bc", "%", "_"):
            await store.aput((*space, "x", label), "k", {"n": 1})
        for label in ("c", "%", "_"):
            assert await _listed(store, space, suffix=(label,)) == [("x", label)]

    async def test_max_depth_cuts_and_lists_each_once(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        assert await _listed(store, space, max_depth=1) == [("a",), ("f",), ("g",)]
        assert await _listed(store, space, max_depth=2) == [("a", "b"), ("a", "d"), ("f", "b"), ("g",)]
        assert await _listed(store, space, max_depth=9) == sorted(_TAILS)

    async def test_namespaces_come_in_order_and_in_pages(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        pages = [await store.alist_namespaces(prefix=space, limit=2, offset=start) for start in range(0, 8, 2)]
        assert [len(page) for page in pages] == [2, 2, 1, 0]
        assert [each[len(space) :] for page in pages for each in page] == sorted(_TAILS)

    async def test_pages_count_what_max_depth_leaves(self, store: BaseStore, space: Space) -> None:
        await _fill(store, space)
        found = await store.alist_namespaces(prefix=space, max_depth=len(space) + 1, limit=2, offset=1)
        assert [each[len(space) :] for each in found] == [("f",), ("g",)]

    async def test_a_namespace_with_many_items_is_listed_once(self, store: BaseStore, space: Space) -> None:
        for n in range(5):
            await store.aput(space, str(n), {"n": n})
        assert await store.alist_namespaces(prefix=space) == [space]

    async def test_a_namespace_whose_items_are_deleted_is_gone(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "k", {"n": 1})
        await store.adelete(space, "k")
        assert await store.alist_namespaces(prefix=space) == []

    async def test_reading_makes_no_namespace(self, store: BaseStore, space: Space) -> None:
        await store.aget(space, "k")
        await store.asearch(space)
        await store.adelete(space, "k")
        assert await store.alist_namespaces(prefix=space) == []


async def _fill(store: BaseStore, space: Space) -> None:
    for tail in _TAILS:
        await store.aput((*space, *tail), "k", {"n": 1})


async def _listed(
    store: BaseStore, space: Space, *, prefix: Space = (), suffix: Space | None = None, max_depth: int | None = None
) -> list[Space]:
    """Return what is listed below a namespace, without its own labels, in order."""
    depth = None if max_depth is None else len(space) + max_depth
    found = await store.alist_namespaces(prefix=(*space, *prefix), suffix=suffix, max_depth=depth, limit=100)
    return sorted(each[len(space) :] for each in found)
