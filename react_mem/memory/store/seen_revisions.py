"""Cache of owners' revisions in the process: what a write expects to find, which the write itself checks."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.memory.store.process_state import kept_with

_MOST = 10_000
_FRESH_SECONDS = 30.0
"""For the steps of a turn and of the work behind it: later another process may well have written, and what is decided
on an old revision is decided in vain."""


class SeenRevisions(OrderedDict[tuple[str, ...], tuple[float, Mapping[str, Any]]]):
    """Revisions by where they are kept, with the time at which they were written; the latest comes last."""


def note_revision(store: BaseStore, namespace: tuple[str, ...], value: Mapping[str, Any] | None) -> None:
    """Take note of a revision that was written.

    Args:
        store: The store.
        namespace: The owner's bookkeeping.
        value: What it is; None where it is not known any more.
    """
    seen = kept_with(store, SeenRevisions)
    seen.pop(namespace, None)
    if value is not None:
        seen[namespace] = (time.monotonic(), value)
    while len(seen) > _MOST:
        seen.popitem(last=False)


def seen_revision(store: BaseStore, namespace: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Return the revision that this process wrote a moment ago; None where it wrote none."""
    at, value = kept_with(store, SeenRevisions).get(namespace, (0.0, None))
    return value if value is not None and time.monotonic() - at < _FRESH_SECONDS else None
