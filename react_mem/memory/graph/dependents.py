"""Cascade of a deletion: what was made of a record goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.store.base import Item

from react_mem.memory.model.kinds import Kind, kind_of

Value = Mapping[str, Any]


def fall(
    left: dict[str, Item],
    gone: dict[str, Item],
    *,
    stands: Callable[[str, Value], bool],
    unsourced: Callable[[Value], bool],
    supported: Callable[[Kind], bool] = lambda kind: kind.supported,
) -> None:
    """Move what goes with its sources from what is left to what is gone, until nothing else does.

    Args:
        left: Records by id.
        gone: Those that are gone, by id.
        stands: Returns whether a source of a record is left.
        unsourced: Returns whether a record without sources goes.
        supported: Returns whether records of a kind go with the last of their sources only.
    """

    def falls(value: Value) -> bool:
        sources = (*value.get("source_ids", ()), *value.get("withdrawn", ()))
        if not sources:
            return unsourced(value)
        kept = [source for source in sources if stands(source, value)]
        return not kept if supported(kind_of(value)) else len(kept) < len(sources)

    while falling := [id_ for id_, item in left.items() if falls(item.value)]:
        gone |= {id_: left.pop(id_) for id_ in falling}
