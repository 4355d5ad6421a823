"""Entries of the audit log. Every word in an entry comes from a closed list, so that no content can get in."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KINDS


class AuditAction(StrEnum):
    """Recorded action."""

    READ = "read"
    WRITE = "write"
    REMOVE = "remove"
    CORRECT = "correct"
    FORGET = "forget"
    ERASE = "erase"
    EXPORT = "export"
    IMPORT = "import"
    HOLD = "hold"
    LIFT = "lift"
    DROPPED = "dropped"
    """Number of entries that were lost because the log could not be written fast enough."""


class AuditActor(StrEnum):
    """Actor of a recorded action."""

    AGENT = "agent"
    USER = "user"
    OPERATOR = "operator"
    WORKER = "worker"
    APPLICATION = "application"
    LOG = "log"


class AuditReason(StrEnum):
    """Reason for a recorded action."""

    TURN = "turn"
    REQUEST = "request"
    WORK = "work"
    CALL = "call"
    RETENTION = "retention"
    OVERFLOW = "overflow"


class AuditEntry(NamedTuple):
    """Entry of the log: one action, with the hash of the owner (empty for none) and the kind or scope of the records.

    The kind is `all` for every kind, and `other` for any other.
    """

    at: datetime
    subject: str
    actor: AuditActor
    action: AuditAction
    kind: str
    records: int
    why: AuditReason


ALL = "all"

_PLACES = frozenset({ALL, *map(str, MemoryScope)})
"""Kinds in entries about records of several kinds: of removed records only the scope is known."""

_acting: ContextVar[tuple[AuditActor, AuditReason]] = ContextVar(
    "audit_acting", default=(AuditActor.APPLICATION, AuditReason.CALL)
)


@contextmanager
def acting(actor: AuditActor, why: AuditReason) -> Iterator[None]:
    """Attribute every action within the context to an actor, with a reason."""
    token = _acting.set((actor, why))
    try:
        yield
    finally:
        _acting.reset(token)


def who_acts() -> tuple[AuditActor, AuditReason]:
    """Return the current actor and reason."""
    return _acting.get()


def kind_in_log(kind: object) -> str:
    """Return the name of a kind in the log: `other` for an application's own, since such a name may hold content."""
    return kind if isinstance(kind, str) and (kind in KINDS or kind in _PLACES) else "other"


def link(before: bytes, seq: int, entry: AuditEntry, key: bytes | None) -> bytes:
    """Return the hash of an entry, chained to the hash `before` (empty for the first entry).

    An HMAC with a key of 32 bytes; without a key a plain SHA-256, which anybody can compute.
    """
    # to the microsecond, as the database keeps it; none of the words holds a line break
    fields = (seq, entry.at.astimezone(UTC).isoformat(timespec="microseconds"), *entry[1:])
    text = before + "\n".join(map(str, fields)).encode()
    return hmac.digest(key, text, "sha256") if key is not None else hashlib.sha256(text).digest()
