"""What is known of a namespace of another store is all that it holds, in whatever order its pages come."""

from __future__ import annotations

from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.retrieval.stock_recall import ListedItems, first_page
from tests.support.shuffled_store import ShuffledStore

NAMESPACE = ("memory", "ann", "dialog")
COUNT = 1_350


async def test_where_pages_repeat_an_item_none_is_missing_nor_taken_for_gone() -> None:
    store = ShuffledStore()
    for number in range(COUNT):
        await store.aput(NAMESPACE, f"m{number}", {"kind": MESSAGE.name, "text": f"tea {number}"})
    listed = ListedItems()
    for _ in range(2):
        [page] = await store.abatch([first_page(store, NAMESPACE)])
        known = await listed.follow(store, NAMESPACE, page)  # type: ignore[arg-type]
        assert known.written.keys() == {f"m{number}" for number in range(COUNT)}
        assert not known.cut
        await store.aput(NAMESPACE, "m0", {"kind": MESSAGE.name, "text": "coffee"})
