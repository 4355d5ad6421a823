"""Checks of search filters: equality, comparison, nesting, absence."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.base import BaseStore

from langgraph_store_conformance.checks.shown import Space

_ITEMS: dict[str, dict[str, Any]] = {
    "nine": {"n": 9, "kind": "fact", "ok": True, "name": "b"},
    "ten": {"n": 10, "kind": "fact", "ok": False, "name": "aa"},
    "hundred": {"n": 100, "kind": "event", "ok": None, "name": "c", "place": {"city": "Huế", "floor": 2}},
    "minus": {"n": -1.5, "kind": "", "tags": ["x", "y"], "name": "水"},
}


async def _found(store: BaseStore, space: Space, wanted: dict[str, Any]) -> set[str]:
    for key, value in _ITEMS.items():
        await store.aput(space, key, value)
    return {item.key for item in await store.asearch(space, filter=wanted, limit=100)}


class FilterChecks:
    """What a filter lets through."""

    async def test_filter_by_a_value(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"kind": "fact"}) == {"nine", "ten"}

    async def test_filter_that_nothing_passes(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"kind": "nothing has it"}) == set()

    async def test_filter_by_a_field_that_nothing_has(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"missing": "x"}) == set()

    async def test_filter_by_several_fields_needs_all(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"kind": "fact", "n": 10}) == {"ten"}

    async def test_filter_by_unicode(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"name": "水"}) == {"minus"}

    async def test_filter_by_an_empty_string(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"kind": ""}) == {"minus"}

    async def test_filter_by_a_string_with_quotes(self, store: BaseStore, space: Space) -> None:
        for key, text in (("single", "it's"), ("double", 'say "hi"'), ("comment", "x'; --"), ("plain", "its")):
            await store.aput(space, key, {"said": text})
        for text, key in (("it's", "single"), ('say "hi"', "double"), ("x'; --", "comment")):
            assert [item.key for item in await store.asearch(space, filter={"said": text})] == [key]

    async def test_filter_by_true_and_false(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"ok": True}) == {"nine"}
        assert await _found(store, space, {"ok": False}) == {"ten"}

    async def test_filter_by_none_finds_null(self, store: BaseStore, space: Space) -> None:
        found = await _found(store, space, {"ok": None})
        assert "hundred" in found
        assert not found & {"nine", "ten"}

    async def test_filter_by_none_finds_what_lacks_the_field(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"ok": None}) == {"hundred", "minus"}

    async def test_numbers_are_no_strings(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "number", {"x": 1})
        await store.aput(space, "string", {"x": "1"})
        for wanted, key in ((1, "number"), ("1", "string")):
            assert [item.key for item in await store.asearch(space, filter={"x": wanted})] == [key]

    async def test_filter_by_a_list(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"tags": ["x", "y"]}) == {"minus"}
        assert await _found(store, space, {"tags": ["y", "x"]}) == set()

    async def test_filter_by_a_nested_field(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"place": {"city": "Huế"}}) == {"hundred"}

    async def test_filter_by_a_whole_nested_object(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"place": {"city": "Huế", "floor": 2}}) == {"hundred"}

    async def test_an_operator_on_a_nested_field(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"place": {"floor": {"$gt": 1}}}) == {"hundred"}
        assert await _found(store, space, {"place": {"floor": {"$gt": 2}}}) == set()

    async def test_eq(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$eq": 9}}) == {"nine"}
        assert await _found(store, space, {"kind": {"$eq": "event"}}) == {"hundred"}

    async def test_eq_of_a_list(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"tags": {"$eq": ["x", "y"]}}) == {"minus"}

    async def test_ne(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$ne": 9}}) == {"ten", "hundred", "minus"}
        assert await _found(store, space, {"kind": {"$ne": "fact"}}) == {"hundred", "minus"}

    async def test_ne_finds_what_lacks_the_field(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "with", {"color": "red"})
        await store.aput(space, "without", {"n": 1})
        found = await store.asearch(space, filter={"color": {"$ne": "red"}})
        assert [item.key for item in found] == ["without"]

    async def test_gt_compares_numbers_as_numbers(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$gt": 9}}) == {"ten", "hundred"}

    async def test_gte_compares_numbers_as_numbers(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$gte": 10}}) == {"ten", "hundred"}

    async def test_lt_compares_numbers_as_numbers(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$lt": 10}}) == {"nine", "minus"}

    async def test_lte_compares_numbers_as_numbers(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$lte": 9}}) == {"nine", "minus"}

    async def test_a_range_of_one_field(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$gte": 9, "$lt": 100}}) == {"nine", "ten"}

    async def test_comparison_with_a_fraction(self, store: BaseStore, space: Space) -> None:
        assert await _found(store, space, {"n": {"$gt": -1.75, "$lt": 9.5}}) == {"nine", "minus"}

    async def test_a_filter_and_a_page(self, store: BaseStore, space: Space) -> None:
        for n in range(30):
            await store.aput(space, str(n), {"n": n, "even": n % 2 == 0})
        pages = [await store.asearch(space, filter={"even": True}, limit=5, offset=start) for start in range(0, 20, 5)]
        assert [len(page) for page in pages] == [5, 5, 5, 0]
        assert {item.value["n"] for page in pages for item in page} == set(range(0, 30, 2))

    async def test_an_unknown_operator_is_refused(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "k", {"n": 1})
        with pytest.raises(ValueError, match="near"):
            await store.asearch(space, filter={"n": {"$near": 1}})
