"""The audit log of a database: what is done is collected in the process and written behind it, some times a minute.

Who acts never waits for the log. What it cannot hold, because the database takes nothing for long, is counted, and the
count is an entry of its own.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString, NamedTuple

from langgraph.store.base import BaseStore, PutOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import AuditBroken
from react_mem.memory import telemetry
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import ROOT, meta_namespace, owner_of
from react_mem.memory.store.audit.audit_entries import (
    ALL,
    AuditAction,
    AuditActor,
    AuditEntry,
    AuditReason,
    kind_in_log,
    link,
    who_acts,
)
from react_mem.memory.store.capabilities import capabilities

FLUSH_SECONDS = 1.0
"""Seconds that entries wait for others, which are then one entry where they are alike."""

MOST_WAITING = 10_000
"""Entries that differ and wait, at most: of more there is only the number."""

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
    """End of a chain, which stands for all of it: kept elsewhere, it shows later whether anything was changed.

    Args:
        seq: The number of the last entry; 0 without any.
        hash: Its hash, in hex.
    """

    seq: int
    hash: str


class _Chain(NamedTuple):
    """Place in the chain up to which it is verified.

    Args:
        seq: The number of the last entry.
        hash: Its hash; None where it has yet to be read.
        keyed: Whether that is by the key.
    """

    seq: int
    hash: bytes | None
    keyed: bool

    @property
    def head(self) -> AuditHead:
        """The same as an end of it."""
        return AuditHead(self.seq, (self.hash or b"").hex())


class _Alike(NamedTuple):
    """Entry without its time and number: those that are alike in it are written as one."""

    owner: str
    actor: AuditActor
    action: AuditAction
    kind: str
    why: AuditReason


@dataclass
class _WaitingEntry:
    """Entries of one sort that wait: how many records, since when."""

    at: datetime
    count: int


class AuditLog:
    """The log of one database, as one process writes and reads it.

    Args:
        pool: The database.
        key: 32 bytes, by which only who has them can make a chain that verifies; None for plain hashes.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[DictRow]], key: bytes | None) -> None:
        self._pool = pool
        self._key = key
        self._waiting: dict[_Alike, _WaitingEntry] = {}
        self._dropped = 0
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def record(self, owner: str, action: AuditAction, counts: Mapping[str, int]) -> None:
        """Have what was just done written, by whoever acts at present.

        Args:
            owner: Whose memory, as in the database's column.
            action: What was done.
            counts: How many records, by kind.
        """
        actor, why = who_acts()
        for kind, count in counts.items():
            alike = _Alike(owner, actor, action, kind_in_log(kind), why)
            if (waiting := self._waiting.get(alike)) is not None:
                waiting.count += count
            elif len(self._waiting) < MOST_WAITING:
                self._waiting[alike] = _WaitingEntry(datetime.now(UTC), count)
            else:
                self._dropped += 1
                telemetry.count("audit.dropped")
        if self._waiting and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._behind())

    async def flush(self) -> None:
        """Write what waits.

        Raises:
            psycopg.Error: If the database does not take it; then it waits still.
        """
        async with self._writing:
            waiting, self._waiting = self._waiting, {}
            dropped, self._dropped = self._dropped, 0
            if not waiting and not dropped:
                return
            try:
                await self._append(waiting, dropped)
            except BaseException:
                self._dropped += dropped
                for alike, one in waiting.items():
                    if (later := self._waiting.get(alike)) is not None:
                        one.count += later.count
                    self._waiting[alike] = one
                raise

    async def close(self) -> None:
        """Write what waits, and end."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        try:
            await self.flush()
        except Exception as error:
            count = sum(one.count for one in self._waiting.values())
            log.error("the audit log lost %d entries of this process: %s", count, cause_of(error))

    async def head(self) -> AuditHead:
        """Return where the chain ends."""
        async with self._pool.connection() as conn:
            row = await _one(conn, _END)
        return AuditHead(row["seq"], bytes(row["hash"]).hex())

    async def subject(self, owner: str) -> str:
        """Return what stands for an owner in the log."""
        async with self._pool.connection() as conn:
            return self._subject((await _one(conn, _END))["salt"], owner)

    async def entries(
        self, *, since: datetime | None = None, owner: str | None = None
    ) -> AsyncIterator[tuple[int, AuditEntry]]:
        """Read the log, the oldest first.

        Args:
            since: From when on.
            owner: Of this owner alone.

        Yields:
            The number of an entry, and the entry.
        """
        subject = None if owner is None else await self.subject(owner)
        async for rows in self._pages(since, subject):
            for row in rows:
                yield row["seq"], _entry(row)

    async def verify(
        self,
        known: AuditHead | None = None,
        *,
        after: AuditHead | None = None,
        report: Callable[[AuditHead, int], None] = lambda verified, total: None,
    ) -> AuditHead:
        """Make sure that nothing was changed, added between, or taken away.

        Args:
            known: An end of the chain that was kept elsewhere: without one, who can change all of the log, and has the
                key if there is one, can write another.
            after: An entry up to which it was verified before, as `report` was told; what comes before is not read.
            report: Is told again and again up to which entry it is verified, and how many there are.

        Returns:
            The end of the chain.

        Raises:
            AuditBroken: If it is not whole; the message names the first entry that does not fit.
        """
        head = await self.head()
        ends = [end for end in (known, after) if end is not None and end.seq]
        begin = _Chain(0, b"", keyed=False)
        if after is not None and after.seq:
            # the entry itself is read once more, for it says whether it has the key
            begin = _Chain(after.seq - 1, None, keyed=False)
        chain, seen = begin, {end for end in ends if end.seq <= begin.seq}
        async for rows in self._pages(None, None, begin.seq):
            wanted = [row for row in rows if row["seq"] <= head.seq]  # others were written meanwhile
            chain = await asyncio.to_thread(self._followed, chain, wanted, ends)
            seen |= {end for end in ends if end.seq <= chain.seq}
            report(chain.head, head.seq)
        if chain.head != head or len(seen) < len(ends):
            raise AuditBroken(f"The audit log is broken: it ends at entry {chain.seq}, and there were more.")
        return head

    def _followed(self, chain: _Chain, rows: Sequence[DictRow], ends: Sequence[AuditHead]) -> _Chain:
        """Return where a chain is after more of its entries, each of which has to follow from the one before."""
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
            # of the entry up to which it was verified before, the hash is compared below
            follows = stored if before is None else link(before, seq, _entry(row), self._key if keyed else None)
            if follows != stored:
                raise AuditBroken(f"The audit log is broken: entry {seq} was changed, or one before it was.")
            if any(end.seq == seq and end.hash != stored.hex() for end in ends):
                raise AuditBroken(f"The audit log was written anew: entry {seq} is not the one that was known.")
            before = stored
        return _Chain(seq, before, keyed)

    async def _behind(self) -> None:
        """Write what comes, until nothing waits."""
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

    async def _append(self, waiting: Mapping[_Alike, _WaitingEntry], dropped: int) -> None:
        async with self._pool.connection() as conn, conn.transaction():
            head = await _one(conn, _HEAD)
            entries = [
                AuditEntry(
                    one.at,
                    self._subject(head["salt"], alike.owner),
                    alike.actor,
                    alike.action,
                    alike.kind,
                    one.count,
                    alike.why,
                )
                for alike, one in waiting.items()
            ]
            if dropped:
                now = datetime.now(UTC)
                overflow = (AuditActor.LOG, AuditAction.DROPPED, ALL, dropped, AuditReason.OVERFLOW)
                entries.append(AuditEntry(now, "", *overflow))
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

    async def _pages(
        self, since: datetime | None, subject: str | None, after: int = 0
    ) -> AsyncIterator[Sequence[DictRow]]:
        while True:
            async with self._pool.connection() as conn:
                found = await conn.execute(_READ, (after, since, since, subject, subject, _PAGE))
                rows = await found.fetchall()
            yield rows
            if len(rows) < _PAGE:
                return
            after = rows[-1]["seq"]


def note(store: BaseStore, owner: str, action: AuditAction, counts: Mapping[str, int]) -> None:
    """Have what was done recorded, where the store keeps a log.

    Args:
        store: The store.
        owner: Whose memory, as in the database's column.
        action: What was done.
        counts: How many records, by kind.
    """
    if (audit := capabilities(store).audit) is not None:
        audit.record(owner, action, {kind: count for kind, count in counts.items() if count})


def note_action(store: BaseStore, user_id: str, action: AuditAction, counts: Mapping[str, int]) -> None:
    """Have what was done with a user's memory recorded, where the store keeps a log.

    Args:
        store: The store.
        user_id: The owner.
        action: What was done.
        counts: How many records, by kind.
    """
    note(store, owner_of(meta_namespace(user_id)), action, counts)


def note_writes(store: BaseStore, puts: Iterable[PutOp]) -> None:
    """Have writes to memory recorded, where the store keeps a log; what is bookkeeping is nobody's memory.

    Args:
        store: The store.
        puts: What was written and removed.
    """
    if capabilities(store).audit is None:
        return
    counts: dict[tuple[str, AuditAction], Counter[str]] = {}
    for put in puts:
        if len(put.namespace) != 3 or put.namespace[0] != ROOT or put.namespace[2] not in _SCOPES:
            continue
        action = AuditAction.REMOVE if put.value is None else AuditAction.WRITE
        kind = put.namespace[2] if put.value is None else str(put.value.get("kind", ""))
        counts.setdefault((owner_of(put.namespace), action), Counter())[kind] += 1
    for (owner, action), kinds in counts.items():
        note(store, owner, action, kinds)


async def _one(conn: AsyncConnection[DictRow], statement: LiteralString) -> DictRow:
    row = await (await conn.execute(statement)).fetchone()
    if row is None:
        raise AuditBroken("The audit log is broken: where it ends is gone from memory_audit_head.")
    return row


def _entry(row: DictRow) -> AuditEntry:
    try:
        return AuditEntry(
            row["at"],
            row["subject"],
            AuditActor(row["actor"]),
            AuditAction(row["action"]),
            row["kind"],
            row["records"],
            AuditReason(row["why"]),
        )
    except ValueError:
        raise AuditBroken(f"The audit log is broken: entry {row['seq']} is none of this version's.") from None
