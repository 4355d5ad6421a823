"""What goes with its sources: a record that others were made of is gone, and so is what was made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from langgraph.store.base import Item

SUPPORTED = frozenset({"fact", "skill"})
"""Kinds that stand on several sources, and keep standing on those that are left. The text of any other kind, such as a
summary, was made of all its sources at once, and goes with the first of them."""

Value = Mapping[str, Any]


def fall(
    left: dict[str, Item],
    gone: dict[str, Item],
    *,
    stands: Callable[[str, Value], bool],
    unsourced: Callable[[Value], bool],
    supported: Collection[str] = SUPPORTED,
) -> None:
    """Move what goes with its sources from what is left to what is gone, until nothing else does.

    Args:
        left: Records by id.
        gone: Those that are gone, by id.
        stands: Returns whether a source of a record is left.
        unsourced: Returns whether a record without sources goes.
        supported: Kinds that go with the last of their sources.
    """

    def falls(value: Value) -> bool:
        sources = (*value.get("source_ids", ()), *value.get("withdrawn", ()))
        if not sources:
            return unsourced(value)
        kept = [source for source in sources if stands(source, value)]
        return not kept if value.get("kind") in supported else len(kept) < len(sources)

    while falling := [id_ for id_, item in left.items() if falls(item.value)]:
        gone |= {id_: left.pop(id_) for id_ in falling}
