"""Memories of another system, as tests make them up."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.integrations.importers.as_records import Entries, ForeignEntry, UnusableEntry

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_THINGS = (
    "green tea",
    "a bicycle",
    "the opera",
    "jazz",
    "phở",
    "书法",
    "sourdough",
    "chess",
    "the sea",
    "an old radio",
)


class Told:
    """A source that has what it is given."""

    name = "told"

    def __init__(self, *entries: ForeignEntry | UnusableEntry, batch: int = 100, personal: bool = False) -> None:
        self.entries: Sequence[ForeignEntry | UnusableEntry] = entries
        self.personal = personal
        self._batch = batch

    async def batches(self) -> AsyncIterator[Entries]:
        for start in range(0, len(self.entries), self._batch):
            yield self.entries[start : start + self._batch]


def mem0_memories(number: int, user: str = "ann") -> list[dict[str, Any]]:
    """Return memories as Mem0 has them, no two of which say the same."""
    return [
        {
            "id": f"00000000-0000-4000-8000-{n:012}",
            "memory": f"On {_DAYS[n % 5]} number {n} likes {_THINGS[n % 10]} with friend number {n // 10}",
            "hash": f"{n:032x}",
            "metadata": {"number": n},
            "created_at": f"2026-01-{1 + n % 28:02}T08:00:00-07:00",
            "updated_at": None,
            "user_id": user,
        }
        for n in range(number)
    ]


def mem0_file(folder: Path, number: int, user: str = "ann") -> Path:
    """Write such memories as `get_all()` returns them, and return the file."""
    file = folder / f"mem0-{number}.json"
    file.write_text(json.dumps({"results": mem0_memories(number, user)}, ensure_ascii=False), encoding="utf-8")
    return file


async def all_items(store: BaseStore) -> list[tuple[Any, ...]]:
    """Return all that a store holds, of everybody."""
    items = await store.asearch((), limit=1_000_000, refresh_ttl=False)
    return sorted((item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in items)
