"""Checks of values: every kind of JSON, as it was written."""

from __future__ import annotations

import copy
from typing import Any

from langgraph.store.base import BaseStore

from langgraph_store_conformance.checks.shown import Space, value_of

_MEGABYTE = 1_000_000


async def _comes_back(store: BaseStore, space: Space, value: dict[str, Any]) -> None:
    await store.aput(space, "value", copy.deepcopy(value))
    assert await value_of(store, space, "value") == value
    [found] = await store.asearch(space)
    assert found.value == value


class ValueChecks:
    """A value comes back as it was."""

    async def test_strings(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"text": "tea", "quote": '"it\'s"', "lines": "a\nb\tc\\d", "percent": "100%_"})

    async def test_unicode(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"text": "Trần Ánh 水 🍵 العربية", "ключ": "e\u0301 is not \u00e9"})

    async def test_empty_strings(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"text": "", "": "empty name", " ": " "})

    async def test_whole_numbers(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"zero": 0, "negative": -7, "53 bits": 2**53 - 1, "63 bits": 2**63 - 1})

    async def test_fractions(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"third": 0.1, "small": 1.5e-9, "negative": -2.5})

    async def test_fractions_of_any_size(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"tiny": 1.5e-300, "huge": 1.5e300})

    async def test_booleans_and_null(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"yes": True, "no": False, "none": None})
        value = await value_of(store, space, "value")
        assert value is not None
        assert (value["yes"] is True, value["no"] is False, value["none"]) == (True, True, None)

    async def test_lists(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {"list": [1, "two", 3.5, None, False, [], {}, [[1], {"a": [2]}]]})

    async def test_nested_objects(self, store: BaseStore, space: Space) -> None:
        deep: dict[str, Any] = {"leaf": True}
        for _ in range(50):
            deep = {"inner": deep}
        await _comes_back(store, space, {"deep": deep, "names": {"a.b": 1, "$eq": 2, "%": 3}})

    async def test_an_empty_value(self, store: BaseStore, space: Space) -> None:
        await _comes_back(store, space, {})

    async def test_a_value_of_a_megabyte(self, store: BaseStore, space: Space) -> None:
        value = {"blob": "0123456789" * (_MEGABYTE // 10)}
        await store.aput(space, "large", value, index=False)
        assert await value_of(store, space, "large") == value

    async def test_a_value_of_many_fields(self, store: BaseStore, space: Space) -> None:
        value = {f"field {n}": n for n in range(2_000)}
        await store.aput(space, "wide", value, index=False)
        assert await value_of(store, space, "wide") == value

    async def test_changing_what_was_put_changes_nothing(self, store: BaseStore, space: Space) -> None:
        value = {"list": [1], "n": 1}
        await store.aput(space, "tea", value)
        value["n"] = 2
        value["list"].append(2)  # type: ignore[attr-defined]
        assert await value_of(store, space, "tea") == {"list": [1], "n": 1}

    async def test_changing_what_was_read_changes_nothing(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"list": [1], "n": 1})
        item = await store.aget(space, "tea")
        assert item is not None
        item.value["n"] = 2
        item.value["list"].append(2)
        assert await value_of(store, space, "tea") == {"list": [1], "n": 1}
