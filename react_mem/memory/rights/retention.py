"""Retention runs: remove the records that the agents' policies no longer keep."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, PutOp

from react_mem.memory import telemetry
from react_mem.memory.branches.tree import without_marks
from react_mem.memory.merging.transcript import silenced
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.receipt import Change, write
from react_mem.memory.model.records import now, record_id
from react_mem.memory.rights.aging import Aged, Policies, aged
from react_mem.memory.rights.erasure import spoken_in
from react_mem.memory.rights.facade_part import forget_caches
from react_mem.memory.rights.forgotten import forgotten_changes, without_forgotten
from react_mem.memory.rights.holds import HeldRecords, holds_on
from react_mem.memory.store.attachments import unattached
from react_mem.memory.store.audit.audit_entries import AuditAction, AuditReason, acting, who_acts
from react_mem.memory.store.audit.audit_log import note_action
from react_mem.memory.store.owned import WHOLE, everything, set_aside
from react_mem.memory.store.thread_owners import thread_marks
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import forgotten_work

BATCH = 1_000
"""Records removed in one write, dependents not counted: a year's backlog blocks nobody."""

_KIND = "aged_thread"

log = logging.getLogger(__name__)

Checkpointer = BaseCheckpointSaver[Any] | None


@dataclass(frozen=True)
class Retained:
    """Report of retention, or of its dry run; `removed` counts by kind, `problems` quote nobody."""

    removed: Mapping[str, int] = field(default_factory=dict)
    rewritten: int = 0
    held: int = 0
    threads: int = 0
    conversations: int = 0
    users: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: Retained) -> Retained:
        """Return the sum of two reports."""
        return Retained(
            Counter(self.removed) + Counter(other.removed),
            self.rewritten + other.rewritten,
            self.held + other.held,
            self.threads + other.threads,
            self.conversations + other.conversations,
            self.users + other.users,
            tuple(dict.fromkeys([*self.problems, *other.problems])),
        )

    @property
    def total(self) -> int:
        """Number of removed records."""
        return sum(self.removed.values())

    def in_words(self) -> str:
        """Return the counts by kind in a line, the most first.

        >>> Retained({"fact": 1, "message": 12}).in_words()
        '12 message, 1 fact'
        """
        ordered = Counter(self.removed).most_common()
        return ", ".join(f"{count} {kind}" for kind, count in ordered) or "nothing"


async def retain(
    store: BaseStore,
    checkpointer: Checkpointer,
    user_id: str,
    policies: Policies,
    *,
    at: datetime | None = None,
    dry_run: bool = False,
    batch: int = BATCH,
) -> Retained:
    """Remove the records of a user beyond the policies' ages and maxima, a bounded number at a time.

    Args:
        checkpointer: Without it ended threads stay.
        policies: The settings of each agent; records of other agents go only with their sources.
        batch: Records removed in one write, dependents not counted.
    """
    total, moment = Retained(), at or now()
    most = sys.maxsize if dry_run else batch

    async def step() -> tuple[Aged, list[Change]]:
        owned, aside = await everything(store, user_id), await set_aside(store, user_id)
        held = await asyncio.to_thread(HeldRecords, await holds_on(store, user_id), [*owned, *aside])
        found = await asyncio.to_thread(aged, owned, aside, policies, held, moment, most)
        if not found.changes or dry_run:
            return found, []
        await asyncio.to_thread(held.check, [*owned, *aside], found.changes)
        beside = await _beside(store, user_id, found, with_threads=checkpointer is not None)
        attached = await unattached(store, user_id, [*owned, *aside], found.changes)
        return found, [*found.changes, *attached, *beside]

    actor, _ = who_acts()
    while True:
        with acting(actor, AuditReason.RETENTION):
            done = await transact(store, user_id, step)
            note_action(store, user_id, AuditAction.ERASE, {} if dry_run else done.removed)
        # of what is held every look tells anew
        part = Retained(done.removed, done.rewritten, 0, 0, len(done.ended), 0)
        total += part
        if dry_run or not done.more or not part.total:
            break
    total += Retained(held=done.held, users=int(bool(total.total)))
    if dry_run:
        return total
    if total.total or total.rewritten:
        forget_caches(store, user_id)
    for kind, count in total.removed.items():
        telemetry.count("retention.removed", count, source=kind)
    return total + Retained(threads=await _delete_threads(store, checkpointer, user_id))


async def _beside(store: BaseStore, user_id: str, found: Aged, *, with_threads: bool) -> list[Change]:
    """Return the writes of bookkeeping, work and notes for the batch of a removal."""
    changes: list[Change] = [*await silenced(store, user_id, found.left)]
    for session in found.ended:
        changes += [*without_marks(user_id, session), *await forgotten_work(store, user_id, session)]
    # an import may name a thread of somebody else's
    heard = spoken_in(item for session in found.ended for item in found.said[session])
    own = set(heard) if with_threads else set()
    namespace = meta_namespace(user_id)
    for session in sorted(own):
        # the thread goes behind the batch, which may fail: what is noted outlives a crash
        note = {"kind": _KIND, "session_id": session}
        changes += [
            without_forgotten(user_id, session),
            PutOp(namespace, record_id(_KIND, session), note, index=False),
        ]
    marks = await thread_marks(store, user_id)
    changes += [PutOp(mark.namespace, mark.key, None) for mark in marks if mark.value.get("thread_id") in own]
    # a thread that goes on has its messages: nobody takes them up again, or shows them to a model
    still = {session: [item.key for item in items] for session, items in found.said.items() if session not in own}
    return [*changes, *await forgotten_changes(store, user_id, still)]


async def _delete_threads(store: BaseStore, checkpointer: Checkpointer, user_id: str) -> int:
    """Delete ended threads, those left by a crash included; return their number."""
    if checkpointer is None:
        return 0
    namespace = meta_namespace(user_id)
    deleted = 0
    for left in await store.asearch(namespace, filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False):
        session = str(left.value["session_id"])
        spoken = {"kind": MESSAGE.name, "session_id": session}
        dialog = scope_namespace(user_id, MemoryScope.DIALOG)
        if not await store.asearch(dialog, filter=spoken, limit=1, refresh_ttl=False):
            await checkpointer.adelete_thread(session)
            deleted += 1
        await write(store, [PutOp(namespace, left.key, None)])
    return deleted
