"""Every item below a namespace, in parts, from any store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence

from langgraph.store.base import BaseStore, Item

from react_mem.memory.model.namespaces import Namespace
from react_mem.memory.store.owned import WHOLE

_PAGE = 1_000


async def read_all(
    store: BaseStore, prefix: Namespace = (), *, page: int = _PAGE, report: Callable[[int], None] = lambda done: None
) -> AsyncIterator[Sequence[Item]]:
    """Yield every item below a namespace once, in parts. A digest of eight bytes an item stays in memory.

    Not every store keeps its order from page to page. Where an item comes twice, another may have been missed; then the
    rest is read at once. `report` is called with the number of items so far.
    """
    seen: set[bytes] = set()
    read, asked = 0, page
    while True:
        found = await store.asearch(prefix, limit=asked, offset=0 if asked == WHOLE else read, refresh_ttl=False)
        read += len(found)
        new = []
        for item in found:
            place = hashlib.blake2b(repr((tuple(item.namespace), item.key)).encode(), digest_size=8).digest()
            if place not in seen:
                seen.add(place)
                new.append(item)
        for start in range(0, len(new), page):
            yield new[start : start + page]
        report(len(seen))
        if asked == WHOLE or (len(found) < asked and len(seen) == read):
            return
        if len(found) < asked:
            asked = WHOLE
