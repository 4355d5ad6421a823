"""Entries of the audit log, and the words that are in it: all from closed lists, so that no content can be."""

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
    """Action that is recorded."""

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
    """Entries that were not written: the log could not take them as fast as they came."""


class AuditActor(StrEnum):
    """Actor: who did it."""

    AGENT = "agent"
    USER = "user"
    OPERATOR = "operator"
    WORKER = "worker"
    APPLICATION = "application"
    LOG = "log"


class AuditReason(StrEnum):
    """Reason for which it was done."""

    TURN = "turn"
    REQUEST = "request"
    WORK = "work"
    CALL = "call"
    RETENTION = "retention"
    OVERFLOW = "overflow"


class AuditEntry(NamedTuple):
    """Entry of the log: one action.

    Args:
        at: When.
        subject: Whose memory: a hash of the owner, empty for nobody's.
        actor: Who did it.
        action: What was done.
        kind: With records of which kind, or of which scope; `all` for every kind, `other` for what is neither.
        records: With how many.
        why: Why.
    """

    at: datetime
    subject: str
    actor: AuditActor
    action: AuditAction
    kind: str
    records: int
    why: AuditReason


ALL = "all"
OTHER = "other"

_PLACES = frozenset({ALL, *map(str, MemoryScope)})
"""Words for records of several kinds: of removed ones it is known where they were."""

_acting: ContextVar[tuple[AuditActor, AuditReason]] = ContextVar(
    "audit_acting", default=(AuditActor.APPLICATION, AuditReason.CALL)
)


@contextmanager
def acting(actor: AuditActor, why: AuditReason) -> Iterator[None]:
    """Record what is done within as somebody's.

    Args:
        actor: Who does it.
        why: Why.
    """
    token = _acting.set((actor, why))
    try:
        yield
    finally:
        _acting.reset(token)


def who_acts() -> tuple[AuditActor, AuditReason]:
    """Return who acts at present, and why."""
    return _acting.get()


def kind_in_log(kind: object) -> str:
    """Return a kind of record as the log names it: what an application calls its own data may say something."""
    return kind if isinstance(kind, str) and (kind in KINDS or kind in _PLACES) else OTHER


def link(before: bytes, seq: int, entry: AuditEntry, key: bytes | None) -> bytes:
    """Return the hash of an entry that follows another.

    Args:
        before: The hash of the one before; empty for the first.
        seq: Its number.
        entry: The entry.
        key: 32 bytes; None for a hash that anybody can compute.
    """
    # to the microsecond, as the database keeps it; none of the words holds a line break
    fields = (seq, entry.at.astimezone(UTC).isoformat(timespec="microseconds"), *entry[1:])
    text = before + "\n".join(map(str, fields)).encode()
    return hmac.digest(key, text, "sha256") if key is not None else hashlib.sha256(text).digest()
