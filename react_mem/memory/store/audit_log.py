"""The audit log of a database: actor, action, time and number of records in a hash chain, without any content.

Each process buffers its entries and writes them in the background every second: no caller waits. Entries beyond the
buffer, when the database is away for long, are only counted, and an entry of its own holds that count.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, LiteralString, NamedTuple

from langgraph.store.base import BaseStore, PutOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import AuditBroken
from react_mem.memory import telemetry
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KINDS
from react_mem.memory.model.namespaces import ROOT, meta_namespace, owner_of, setting
from react_mem.memory.store.capabilities import capabilities

# Entries of the audit log. Every word in an entry comes from a closed list, so that no content can get in.


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


def acting(actor: AuditActor, why: AuditReason) -> AbstractContextManager[None]:
    """Attribute every action within the context to an actor, with a reason."""
    return setting(_acting, (actor, why))


def who_acts() -> tuple[AuditActor, AuditReason]:
    """Return the current actor and reason."""
    return _acting.get()


def link(before: bytes, seq: int, entry: AuditEntry, key: bytes | None) -> bytes:
    """Return the hash of an entry, chained to the hash `before` (empty for the first entry).

    An HMAC with a key of 32 bytes; without a key a plain SHA-256, which anybody can compute.
    """
    # to the microsecond, as the database keeps it; none of the words holds a line break
    fields = (seq, entry.at.astimezone(UTC).isoformat(timespec="microseconds"), *entry[1:])
    text = before + "\n".join(map(str, fields)).encode()
    return hmac.digest(key, text, "sha256") if key is not None else hashlib.sha256(text).digest()


FLUSH_SECONDS = 1.0
"""Seconds between two writes of the buffer; equal entries within them become one."""

MOST_WAITING = 10_000
"""Largest number of buffered entries; further ones are only counted."""

_SCOPES = frozenset(map(str, MemoryScope))
_PAGE = 1_000
_SUBJECT_DIGITS = 32

_END: LiteralString = "SELECT salt, seq, hash FROM memory_audit_head"
_HEAD: LiteralString = f"{_END} FOR UPDATE"
_ADD = """
    INSERT INTO memory_audit (seq, at, subject, actor, action, kind, records, why, keyed, hash)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_MOVE = "UPDATE memory_audit_head SET seq = %s, hash = %s"
_READ = """
    SELECT seq, at, subject, actor, action, kind, records, why, keyed, hash FROM memory_audit
    WHERE seq > %s AND (%s::timestamptz IS NULL OR at >= %s) AND (%s::text IS NULL OR subject = %s)
    ORDER BY seq LIMIT %s
"""

log = logging.getLogger(__name__)


class AuditHead(NamedTuple):
    """Head of a hash chain: number of the last entry (0 for none) and its hash in hex.

    A copy kept elsewhere proves later that no entry was changed.
    """

    seq: int
    hash: str


_Chain = tuple[int, bytes, bool]
"""Verified part of the chain: number and hash of its last entry, and true if that is keyed."""

_Alike = tuple[str, AuditActor, AuditAction, str, AuditReason]
"""Entry of an owner without time and count: equal ones are written as one entry."""


class AuditLog:
    """Writer and reader of the audit log of one database, in one process.

    With a key of 32 bytes the hashes are keyed, so that only a holder of the key can forge a chain.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], key: bytes | None) -> None:
        self._pool = pool
        self._key = key
        self._waiting: dict[_Alike, tuple[datetime, int]] = {}  # time of the first action, number of records
        self._dropped = 0
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def record(self, owner: str, action: AuditAction, counts: Mapping[str, int]) -> None:
        """Buffer an action of the current actor, with the number of records by kind.

        `owner` is a value of the column `owner`.
        """
        actor, why = who_acts()
        for kind, count in counts.items():
            # an application's own kind is `other`, since such a name may hold content
            alike = (owner, actor, action, kind if kind in KINDS or kind in _PLACES else "other", why)
            if alike in self._waiting or len(self._waiting) < MOST_WAITING:
                at, before = self._waiting.get(alike, (datetime.now(UTC), 0))
                self._waiting[alike] = at, before + count
            else:
                self._dropped += 1
                telemetry.count("audit.dropped")
        if self._waiting and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._behind())

    async def flush(self) -> None:
        """Write the buffered entries; if the database fails (psycopg.Error) they stay buffered."""
        async with self._writing:
            waiting, self._waiting = self._waiting, {}
            dropped, self._dropped = self._dropped, 0
            if not waiting and not dropped:
                return
            try:
                await self._append(waiting, dropped)
            except BaseException:
                self._dropped += dropped
                for alike, (at, count) in waiting.items():
                    self._waiting[alike] = at, count + self._waiting.get(alike, (at, 0))[1]
                raise

    async def close(self) -> None:
        """Write the buffered entries and stop the background task."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        try:
            await self.flush()
        except Exception as error:
            count = sum(count for _, count in self._waiting.values())
            log.error("the audit log lost %d entries of this process: %s", count, cause_of(error))

    async def head(self) -> AuditHead:
        """Return the head of the chain."""
        async with self._pool.connection() as conn:
            row = await _one(conn, _END)
        return AuditHead(row["seq"], bytes(row["hash"]).hex())

    async def entries(
        self, *, since: datetime | None = None, owner: str | None = None
    ) -> AsyncIterator[tuple[int, AuditEntry]]:
        """Yield the entries with their numbers, the oldest first, from a time on or of one owner."""
        subject = None
        if owner is not None:
            async with self._pool.connection() as conn:
                subject = self._subject((await _one(conn, _END))["salt"], owner)
        async for rows in self._pages(since, subject):
            for row in rows:
                yield row["seq"], _entry(row)

    async def verify(
        self,
        known: AuditHead | None = None,
        report: Callable[[int, int], None] = lambda verified, total: None,
    ) -> AuditHead:
        """Verify that no entry was changed, inserted or removed, and return the head of the chain.

        An AuditBroken names the first wrong entry.

        Args:
            known: A head kept elsewhere. Without it, an attacker with write access to the log and the key can replace
                the whole chain.
            report: Called after each page with the numbers of verified and of all entries.
        """
        head = await self.head()
        chain: _Chain = (0, b"", False)
        async for rows in self._pages(None, None):
            wanted = [row for row in rows if row["seq"] <= head.seq]  # others were written meanwhile
            chain = await asyncio.to_thread(self._followed, chain, wanted, known)
            report(chain[0], head.seq)
        last, end, _ = chain
        if (last, end.hex()) != head or (known is not None and known.seq > last):
            raise AuditBroken(f"The audit log is broken: it ends at entry {last}, and there were more.")
        return head

    def _followed(self, chain: _Chain, rows: Sequence[DictRow], known: AuditHead | None) -> _Chain:
        """Return the chain extended by some rows, each checked against the one before."""
        seq, before, keyed = chain
        for row in rows:
            seq += 1
            if row["seq"] != seq:
                raise AuditBroken(f"The audit log is broken: entry {seq} is missing.")
            if row["keyed"] and self._key is None:
                raise AuditBroken("The audit log is written with a master key: set MEMORY_ENCRYPTION_KEY to verify it.")
            if keyed and not row["keyed"]:
                raise AuditBroken(f"The audit log is broken: entry {seq} is without the key that those before it have.")
            keyed, stored = row["keyed"], bytes(row["hash"])
            if link(before, seq, _entry(row), self._key if keyed else None) != stored:
                raise AuditBroken(f"The audit log is broken: entry {seq} was changed, or one before it was.")
            if known is not None and known.seq == seq and known.hash != stored.hex():
                raise AuditBroken(f"The audit log was written anew: entry {seq} is not the one that was known.")
            before = stored
        return seq, before, keyed

    async def _behind(self) -> None:
        """Write entries in the background until the buffer is empty."""
        failed = False
        while self._waiting or self._dropped:
            await asyncio.sleep(FLUSH_SECONDS)
            try:
                await self.flush()
                failed = False
            except Exception as error:
                if not failed:
                    log.warning("the audit log cannot be written, its entries wait: %s", cause_of(error))
                failed = True
        self._task = None

    async def _append(self, waiting: Mapping[_Alike, tuple[datetime, int]], dropped: int) -> None:
        async with self._pool.connection() as conn, conn.transaction():
            head = await _one(conn, _HEAD)
            entries = [
                AuditEntry(at, self._subject(head["salt"], owner), actor, action, kind, count, why)
                for (owner, actor, action, kind, why), (at, count) in waiting.items()
            ]
            if dropped:
                overflow = (AuditActor.LOG, AuditAction.DROPPED, ALL, dropped, AuditReason.OVERFLOW)
                entries.append(AuditEntry(datetime.now(UTC), "", *overflow))
            rows = await asyncio.to_thread(self._linked, head["seq"], bytes(head["hash"]), entries)
            async with conn.cursor() as cursor:
                await cursor.executemany(_ADD, rows)
            await conn.execute(_MOVE, (rows[-1][0], rows[-1][-1]))

    def _linked(self, seq: int, before: bytes, entries: list[AuditEntry]) -> list[tuple[Any, ...]]:
        rows = []
        for entry in entries:
            seq += 1
            before = link(before, seq, entry, self._key)
            rows.append((seq, *entry, self._key is not None, before))
        return rows

    def _subject(self, salt: str, owner: str) -> str:
        # by the key where there is one: a salt that stands beside it does not keep ids from being tried
        return hmac.digest(self._key or salt.encode(), f"subject:{owner}".encode(), "sha256").hex()[:_SUBJECT_DIGITS]

    async def _pages(self, since: datetime | None, subject: str | None) -> AsyncIterator[Sequence[DictRow]]:
        after = 0
        while True:
            async with self._pool.connection() as conn:
                found = await conn.execute(_READ, (after, since, since, subject, subject, _PAGE))
                rows = await found.fetchall()
            yield rows
            if len(rows) < _PAGE:
                return
            after = rows[-1]["seq"]


def note_action(store: BaseStore, user_id: str, action: AuditAction, counts: Mapping[str, int]) -> None:
    """Record an action on a user's memory, with the number of records by kind, with a store's audit log if any."""
    if (audit := capabilities(store).audit) is not None:
        made = {kind: count for kind, count in counts.items() if count}
        audit.record(owner_of(meta_namespace(user_id)), action, made)


def note_writes(store: BaseStore, puts: Iterable[PutOp]) -> None:
    """Record writes to memory with a store's audit log, if there is one; bookkeeping is left out."""
    if (audit := capabilities(store).audit) is None:
        return
    counts: dict[tuple[str, AuditAction], Counter[str]] = {}
    for put in puts:
        if len(put.namespace) != 3 or put.namespace[0] != ROOT or put.namespace[2] not in _SCOPES:
            continue
        action = AuditAction.REMOVE if put.value is None else AuditAction.WRITE
        kind = put.namespace[2] if put.value is None else str(put.value.get("kind", ""))
        counts.setdefault((owner_of(put.namespace), action), Counter())[kind] += 1
    for (owner, action), kinds in counts.items():
        audit.record(owner, action, kinds)


async def _one(conn: AsyncConnection[DictRow], statement: LiteralString) -> DictRow:
    row = await (await conn.execute(statement)).fetchone()
    if row is None:
        raise AuditBroken("The audit log is broken: where it ends is gone from memory_audit_head.")
    return row


def _entry(row: DictRow) -> AuditEntry:
    try:
        actor, action, why = AuditActor(row["actor"]), AuditAction(row["action"]), AuditReason(row["why"])
        return AuditEntry(row["at"], row["subject"], actor, action, row["kind"], row["records"], why)
    except ValueError:
        raise AuditBroken(f"The audit log is broken: entry {row['seq']} is none of this version's.") from None
