"""Capabilities: what a store may claim beyond the base of the contract, and which checks need what."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

_Check = TypeVar("_Check", bound=Callable[..., Any])


class Capability(StrEnum):
    """Something that not every store offers."""

    VECTORS = "vectors"
    """Ranks by a query: it was opened with an index whose field is `text`, as `word_index()` makes one."""
    TTL = "ttl"
    """Expires items."""
    SYNC = "sync"
    """Can be called from code that is not async, in a thread other than the event loop's."""
    ATOMIC_BATCHES = "atomic batches"
    """Of two batches over the same items that are written at once, one comes wholly after the other."""


EVERYTHING = frozenset(Capability)


def needs(*capabilities: Capability) -> Callable[[_Check], _Check]:
    """Declare what a check needs of a store: where the store does not claim it, the check is skipped.

    Args:
        capabilities: All that it needs.
    """

    def declare(check: _Check) -> _Check:
        check.__dict__["needed_capabilities"] = frozenset(capabilities)
        return check

    return declare


def needed_by(check: Callable[..., Any]) -> frozenset[Capability]:
    """Return the capabilities that a check needs."""
    found: frozenset[Capability] = check.__dict__.get("needed_capabilities", frozenset())
    return found
