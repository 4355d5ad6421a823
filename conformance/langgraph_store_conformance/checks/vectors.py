"""Checks of searches by a query, over an index of the field `text`."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import BaseStore, PutOp, SearchOp

from langgraph_store_conformance.capabilities import Capability, needs
from langgraph_store_conformance.checks.shown import Space, keys


class VectorChecks:
    """A query ranks."""

    @needs(Capability.VECTORS)
    async def test_a_query_ranks_by_likeness(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "car", {"text": "a red car"})
        await store.aput(space, "tea", {"text": "green tea"})
        found = await store.asearch(space, query="green tea")
        assert keys(found) == ["tea", "car"]
        scores = [item.score for item in found]
        assert all(isinstance(score, float) for score in scores)
        assert scores[0] > scores[1]  # type: ignore[operator]

    @needs(Capability.VECTORS)
    async def test_a_query_stays_in_its_namespace(self, store: BaseStore, space: Space) -> None:
        for label in ("a", "ab", "a%", "a_"):
            await store.aput((*space, label), "tea", {"text": "green tea"})
        for label in ("a", "a%", "a_"):
            found = await store.asearch((*space, label), query="green tea")
            assert [item.namespace for item in found] == [(*space, label)]

    @needs(Capability.VECTORS)
    async def test_a_query_with_a_filter(self, store: BaseStore, space: Space) -> None:
        for n in range(60):
            await store.aput(space, str(n), {"text": "green tea", "rare": n % 20 == 0})
        found = await store.asearch(space, query="green tea", filter={"rare": True}, limit=10)
        assert sorted(keys(found)) == ["0", "20", "40"]
        assert await store.asearch(space, query="green tea", filter={"rare": "no"}) == []

    @needs(Capability.VECTORS)
    async def test_a_query_with_a_range(self, store: BaseStore, space: Space) -> None:
        for n in range(12):
            await store.aput(space, str(n), {"text": "green tea", "n": n})
        found = await store.asearch(space, query="green tea", filter={"n": {"$gte": 9}}, limit=20)
        assert sorted(keys(found)) == ["10", "11", "9"]

    @needs(Capability.VECTORS)
    async def test_a_query_passes_what_a_filter_passes(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "1", {"text": "tea", "kind": "fact", "n": 9, "ok": True, "tags": ["a", "b"]})
        await store.aput(space, "2", {"text": "tea", "kind": "fact", "n": 10, "ok": False, "tags": []})
        await store.aput(space, "3", {"text": "tea", "kind": "", "n": 9, "ok": None})
        wanted: list[tuple[dict[str, Any], list[str]]] = [
            ({"kind": "fact"}, ["1", "2"]),
            ({"kind": "fact", "n": 9}, ["1"]),
            ({"kind": ""}, ["3"]),
            ({"ok": True}, ["1"]),
            ({"ok": False}, ["2"]),
            ({"tags": ["a", "b"]}, ["1"]),
            ({"n": {"$ne": 9}}, ["2"]),
            ({"missing": 1}, []),
        ]
        for given, expected in wanted:
            assert sorted(keys(await store.asearch(space, query="tea", filter=given))) == expected, given

    @needs(Capability.VECTORS)
    async def test_a_query_with_a_nested_filter(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "1", {"text": "tea", "place": {"city": "Huế", "floor": 2}})
        await store.aput(space, "2", {"text": "tea", "place": {"city": "Oslo"}})
        found = await store.asearch(space, query="tea", filter={"place": {"city": "Huế"}})
        assert keys(found) == ["1"]

    @needs(Capability.VECTORS)
    async def test_pages_of_a_query(self, store: BaseStore, space: Space) -> None:
        for n in range(7):
            await store.aput(space, str(n), {"text": "tea " + " ".join(f"w{n}x{m}" for m in range(n))})
        whole = keys(await store.asearch(space, query="tea", limit=7))
        pages = [keys(await store.asearch(space, query="tea", limit=3, offset=start)) for start in (0, 3, 6, 9)]
        assert [key for page in pages for key in page] == whole
        assert [len(page) for page in pages] == [3, 3, 1, 0]

    @needs(Capability.VECTORS)
    async def test_a_query_in_any_script(self, store: BaseStore, space: Space) -> None:
        texts = [
            "这是中文",
            "これは日本語です",
            "이건 한국어야",
            "Это русский",
            "यह हिन्दी है",
            "Đây là tiếng Việt",
            "🍵 🍵",
        ]
        for text in texts:
            await store.aput(space, text, {"text": text})
        for text in texts:
            assert keys(await store.asearch(space, query=text, limit=1)) == [text]

    @needs(Capability.VECTORS)
    async def test_what_is_overwritten_is_found_by_its_new_text(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "1", {"text": "green tea"})
        await store.aput(space, "2", {"text": "red car"})
        await store.aput(space, "1", {"text": "blue boat"})
        assert keys(await store.asearch(space, query="blue boat", limit=1)) == ["1"]
        [first, *_] = await store.asearch(space, query="green tea", filter={"text": "blue boat"})
        assert first.score is None or first.score < 0.9

    @needs(Capability.VECTORS)
    async def test_what_is_deleted_is_not_found(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "green tea"})
        await store.aput(space, "car", {"text": "red car"})
        await store.adelete(space, "tea")
        assert keys(await store.asearch(space, query="green tea")) == ["car"]

    @needs(Capability.VECTORS)
    async def test_what_is_put_again_after_its_deletion_has_its_new_vector(
        self, store: BaseStore, space: Space
    ) -> None:
        await store.aput(space, "1", {"text": "green tea"})
        await store.adelete(space, "1")
        await store.aput(space, "1", {"text": "red car"}, index=False)
        found = await store.asearch(space, query="green tea")
        assert [item.score for item in found if item.key == "1"] in ([], [None])

    @needs(Capability.VECTORS)
    async def test_a_write_that_is_not_indexed_has_no_score(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "hidden", {"text": "green tea"}, index=False)
        await store.aput(space, "car", {"text": "red car"})
        found = await store.asearch(space, query="green tea")
        assert [item.key for item in found if item.score is not None] == ["car"]
        assert sorted(keys(await store.asearch(space))) == ["car", "hidden"]

    @needs(Capability.VECTORS)
    async def test_an_item_that_is_no_longer_indexed_loses_its_score(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "green tea"})
        await store.aput(space, "tea", {"text": "green tea"}, index=False)
        found = await store.asearch(space, query="green tea")
        assert [item.score for item in found] in ([], [None])

    @needs(Capability.VECTORS)
    async def test_a_write_names_its_own_fields(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "named", {"text": "sand", "title": "green tea"}, index=["title"])
        await store.aput(space, "other", {"text": "red car", "title": "green tea"})
        assert keys(await store.asearch(space, query="green tea", limit=1)) == ["named"]

    @needs(Capability.VECTORS)
    async def test_several_texts_of_an_item_make_one_hit(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tags", {"tags": ["tea " * n for n in (1, 2, 3, 4)]}, index=["tags[*]"])
        await store.aput(space, "cup", {"text": "tea cup"})
        assert keys(await store.asearch(space, query="tea")) == ["tags", "cup"]
        assert keys(await store.asearch(space, query="tea", limit=1, offset=1)) == ["cup"]

    @needs(Capability.VECTORS)
    async def test_queries_of_one_batch_are_answered_each(self, store: BaseStore, space: Space) -> None:
        await store.abatch([PutOp(space, "tea", {"text": "green tea"}), PutOp(space, "car", {"text": "red car"})])
        results = await store.abatch(
            [SearchOp(space, query=query, limit=1) for query in ("red car", "green tea", "red car")]
        )
        assert [keys(found) for found in results] == [["car"], ["tea"], ["car"]]  # type: ignore[arg-type]
