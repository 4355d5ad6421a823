"""Checks of namespaces: tenants are apart, whatever their labels are made of."""

from __future__ import annotations

from contextlib import suppress

import pytest
from langgraph.store.base import BaseStore, PutOp

from langgraph_store_conformance.checks.shown import Space, value_of


async def _are_apart(store: BaseStore, space: Space, labels: list[str]) -> None:
    """Write to a namespace for each label, and read each: by get, by search, and in the list."""
    spaces = [(*space, label) for label in labels]
    for own in spaces:
        await store.aput(own, "k", {"of": own[-1]})
    for own in spaces:
        assert await value_of(store, own, "k") == {"of": own[-1]}
        assert [item.namespace for item in await store.asearch(own, limit=100)] == [own]
        assert await store.alist_namespaces(prefix=own, limit=100) == [own]
    assert {item.namespace for item in await store.asearch(space, limit=100)} == set(spaces)


class NamespaceChecks:
    """A namespace is its labels, compared whole and as they are."""

    async def test_the_same_key_in_two_namespaces_is_two_items(self, store: BaseStore, space: Space) -> None:
        ann, bob = (*space, "ann"), (*space, "bob")
        await store.aput(ann, "k", {"of": "ann"})
        await store.aput(bob, "k", {"of": "bob"})
        await store.adelete(ann, "k")
        assert await store.aget(ann, "k") is None
        assert await value_of(store, bob, "k") == {"of": "bob"}

    async def test_a_label_is_no_prefix_of_another(self, store: BaseStore, space: Space) -> None:
        await _are_apart(store, space, ["a", "ab", "abc", "b"])

    async def test_percent_underscore_and_backslash_are_no_wildcards(self, store: BaseStore, space: Space) -> None:
        await _are_apart(store, space, ["a%", "a_", "ab", "a\\", "%", "_", "a\\%"])

    async def test_stars_brackets_and_question_marks_are_no_wildcards(self, store: BaseStore, space: Space) -> None:
        labels = ["a?", "ax", "[a]", "a", "a]", "[^a]"]
        await _are_apart(store, space, labels)
        await store.aput((*space, "a*"), "k", {"of": "a*"})
        assert [item.namespace[-1] for item in await store.asearch((*space, "a*"))] == ["a*"]

    async def test_labels_keep_their_case(self, store: BaseStore, space: Space) -> None:
        await _are_apart(store, space, ["ann", "Ann", "ANN"])

    async def test_labels_of_unicode(self, store: BaseStore, space: Space) -> None:
        await _are_apart(store, space, ["Ánh", "水", "🍵", "e\u0301", "\u00e9", "العربية"])

    async def test_labels_of_spaces_quotes_and_slashes(self, store: BaseStore, space: Space) -> None:
        await _are_apart(store, space, ["a b", "a  b", " a", "it's", 'a"b', "a/b", "a:b", "a,b", "a\nb", "a;--"])

    async def test_a_search_covers_what_is_below_and_nothing_above(self, store: BaseStore, space: Space) -> None:
        own, below, beside = (*space, "a"), (*space, "a", "b"), (*space, "c")
        for each in (space, own, below, beside):
            await store.aput(each, "k", {"n": 1})
        assert {item.namespace for item in await store.asearch(own)} == {own, below}
        assert {item.namespace for item in await store.asearch(space)} == {space, own, below, beside}

    async def test_get_does_not_look_below(self, store: BaseStore, space: Space) -> None:
        await store.aput((*space, "a", "b"), "k", {"n": 1})
        assert await store.aget((*space, "a"), "k") is None

    async def test_an_empty_prefix_searches_everything(self, store: BaseStore, space: Space) -> None:
        spaces = {(*space, "a"), (*space, "b", "c")}
        for each in spaces:
            await store.aput(each, "k", {"marked": space[-1]})
        found = await store.asearch((), filter={"marked": space[-1]}, limit=10)
        assert {item.namespace for item in found} == spaces

    async def test_ten_labels(self, store: BaseStore, space: Space) -> None:
        deep = (*space, *(f"level {n}" for n in range(10)))
        await store.aput(deep, "k", {"n": 1})
        assert await value_of(store, deep, "k") == {"n": 1}
        assert await store.alist_namespaces(prefix=space) == [deep]

    async def test_a_label_with_a_dot_is_refused(self, store: BaseStore, space: Space) -> None:
        with pytest.raises(ValueError, match="period"):
            await store.aput((*space, "a.b"), "k", {"n": 1})

    async def test_an_empty_label_is_refused(self, store: BaseStore, space: Space) -> None:
        with pytest.raises(ValueError, match="empty"):
            await store.aput((*space, ""), "k", {"n": 1})

    async def test_an_empty_namespace_is_refused(self, store: BaseStore) -> None:
        with pytest.raises(ValueError, match="empty"):
            await store.aput((), "k", {"n": 1})

    async def test_a_batch_does_not_join_labels_with_dots(self, store: BaseStore, space: Space) -> None:
        two = (*space, "a", "b")
        await store.aput(two, "k", {"of": "two labels"})
        with suppress(ValueError):  # it may be refused, as `put` refuses it
            await store.abatch([PutOp((*space, "a.b"), "k", {"of": "one label"})])
        assert await value_of(store, two, "k") == {"of": "two labels"}
