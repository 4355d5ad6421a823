"""Retention: its rules, and the runs that remove the records that the agents' policies no longer keep."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item, PutOp

from react_mem.memory import telemetry
from react_mem.memory.merging.authors import silenced
from react_mem.memory.merging.forks import part_of, without_marks
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import (
    CHAIN,
    CONCEPT,
    CONVERSATION,
    FACT,
    FILE,
    MESSAGE,
    PENDING,
    PROFILE,
    TASK,
    TASK_STEP,
    Kind,
    kind_of,
)
from react_mem.memory.model.kinds import STATE as FLOW_STATE
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.operations import Change, write
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.profile_schema import Profile, ProfileValue
from react_mem.memory.model.records import now, record_id, with_zone
from react_mem.memory.rights.erasure import erasing, spoken_in
from react_mem.memory.rights.forgetting import chains_without
from react_mem.memory.rights.hidden import Place
from react_mem.memory.rights.holds import HeldRecords, forget_caches, holds_on
from react_mem.memory.rights.unsaid import forgotten_changes, index_of, with_value, without_forgotten
from react_mem.memory.scopes.profile import merged_field, values_of, with_text
from react_mem.memory.store.attachments import unattached
from react_mem.memory.store.audit_log import AuditAction, AuditReason, acting, note_action, who_acts
from react_mem.memory.store.capabilities import WHOLE, everything, set_aside
from react_mem.memory.store.checkpointer import thread_marks
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import forgotten_work

# Retention rules: the records beyond the ages and maxima of the agents' policies, and all that depends on them.

Policies = Mapping[str, RetentionSettings]
"""Retention settings by agent: a record is judged by those of the agent that wrote it."""

_SINCE = {FACT: "said_at", TASK: "worked_at", PENDING: "created_at", FILE: "modified_at"}
"""Field with the time when a record was last confirmed, where that is not its creation."""

_BOOKKEEPING = (CONVERSATION, CHAIN)  # kinds with one record for each conversation that has a message left
_UNCOUNTED = (PROFILE, CONCEPT, CONVERSATION, CHAIN, FLOW_STATE, PENDING)
"""Kinds with one record for each user, conversation or name: maxima do not count them."""


class _Aging:
    """Records of an owner that remain under the policies: at most `most` go, their dependents not counted.

    `ended` names the conversations without a message left, `held` counts the due records under a hold.
    """

    def __init__(
        self,
        owned: Sequence[Item],
        aside: Sequence[Item],
        policies: Policies,
        held: HeldRecords,
        at: datetime,
        most: int,
    ) -> None:
        # of two under one id, in a scope and set aside, the one in the scope says what stands on it
        self._items = items = [*aside, *owned]
        self._policies, self._held, self._at = policies, held, at
        self.left: dict[Place, Item] = {(item.namespace, item.key): item for item in items}
        self._places = {item.key: kind_of(item.value).place for item in items}
        self._gone: set[str] = set()
        self.ended: list[str] = []
        self.more = False
        due = [item for _, item in sorted(self._due(), key=lambda pair: pair[0])]
        self.held = sum(held.by(item.key) is not None for item in due)
        if held.whole is None:
            self._remove([item for item in due if held.by(item.key) is None], most)
        # of conversations that go on, the summary chains lose what is removed
        free = [item for item in self.left.values() if held.by(item.key) is None]
        for change in chains_without(free, {}, self._gone):
            self._replace((change.namespace, change.key), change.value or {})
        gone = [item for item in items if (item.namespace, item.key) not in self.left]
        before = {(item.namespace, item.key): item.value for item in items}
        less = [item for place, item in self.left.items() if item.value != before.get(place)]
        self.changes = [PutOp(item.namespace, item.key, None) for item in gone]
        self.changes += [PutOp(item.namespace, item.key, item.value, index=index_of(item)) for item in less]
        self.removed = Counter(kind_of(item.value).name or "other" for item in gone)
        self.rewritten = len(less)

    def _remove(self, free: Sequence[Item], most: int) -> None:
        first = free
        if len(free) > most:
            # no other due record derives from them: one of two messages would lose one, and count as held by the other
            sources = {part_of(id_) for item in free for id_ in item.value.get("source_ids") or ()}
            first = ([item for item in free if item.key not in sources] or free)[:most]
        self._erase({item.key for item in first}, self._outlives)
        self._drop_old_values()
        self._erase(self._unsourced_of(self._ended()), self._outlives)
        beyond = [id_ for agent in self._policies for id_ in self._beyond(agent)]
        self._erase(beyond[:most], self._outlives_elsewhere)
        self.ended = self._ended()
        # of a conversation that went to make room, what is known from it stays
        self._erase(self._unsourced_of(self.ended, _BOOKKEEPING), self._outlives_elsewhere)
        self.more = len(free) > most or len(beyond) > most

    def _policy(self, value: Mapping[str, Any]) -> RetentionSettings:
        return self._policies.get(str(value.get("agent_id")), RetentionSettings())

    def _replace(self, place: Place, value: Mapping[str, Any]) -> None:
        self.left[place] = with_value(self.left[place], value)

    def _due(self) -> Iterator[tuple[datetime, Item]]:
        """Yield the records older than their agents allow, each with the start of its age."""
        tasks = {item.key: item for item in self._items if TASK.matches(item.value)}
        for item in self._items:
            kind = kind_of(item.value)
            if kind in (PROFILE, CONCEPT, *_BOOKKEEPING):
                continue
            age = self._policy(item.value).age(MemoryScope.DIALOG if kind is PENDING else kind.place)
            dated = tasks.get(str(item.value.get("task_id")), item) if kind is TASK_STEP else item
            if age is not None and (since := since_of(dated)) < self._at - age:
                yield since, item

    def _outlives(self, value: Mapping[str, Any], source: str) -> bool:
        """Return true if a record stays without a source: it is held, or its scope has a retention time of its own."""
        place = kind_of(value).place
        is_held = self._held.by(str(value.get("id"))) is not None
        return is_held or (self._policy(value).has(place) and place != self._places.get(part_of(source)))

    def _outlives_elsewhere(self, value: Mapping[str, Any], source: str) -> bool:
        """Return true if a record stays although its source went to make room: it is in another scope, or held."""
        if PENDING.matches(value):
            return self._held.by(str(value.get("id"))) is not None
        return self._outlives(value, source) or kind_of(value).place != self._places.get(part_of(source))

    def _erase(self, ids: Collection[str], outlives: Callable[[Mapping[str, Any], str], bool]) -> None:
        """Remove records with all that derives from them alone."""
        if not ids:
            return
        rest = [item for item in self.left.values() if not PROFILE.matches(item.value)]
        changes = erasing(rest, ids, revives=False, outlives=outlives)
        gone = {change.key for change in changes if change.value is None}
        self._gone |= gone
        for change in changes:
            if change.value is not None:
                # of a concept that named two, one may be made anew
                place, at = (change.namespace, change.key), now()
                new = Item(value={}, key=change.key, namespace=change.namespace, created_at=at, updated_at=at)
                self.left.setdefault(place, new)
                self._replace(place, change.value)
        self.left = {place: item for place, item in self.left.items() if place[1] not in gone}

    def _drop_old_values(self) -> None:
        """Remove profile values that are too old or have only removed sources."""
        for place, item in list(self.left.items()):
            if not PROFILE.matches(item.value):
                continue
            profile = Profile.from_value(item.value)
            policy = self._policy(item.value)
            held = {name: list(values_of(entry)) for name, entry in profile.fields.items()}
            left = {name: [one for value in all_ if (one := self._kept(value, policy))] for name, all_ in held.items()}
            kept = {name: values for name, values in left.items() if values}
            if kept == held:
                continue
            if not any(value.value for values in kept.values() for value in values):
                del self.left[place]
            else:
                fields = {name: merged_field(values) for name, values in kept.items()}
                self._replace(place, with_text(profile.model_copy(update={"fields": fields})).to_value())

    def _kept(self, value: ProfileValue, policy: RetentionSettings) -> ProfileValue | None:
        if any(self._held.by(id_) is not None for id_ in value.source_ids):
            return value
        sources = tuple(id_ for id_ in value.source_ids if part_of(id_) not in self._gone)
        if policy.has(MemoryScope.PROFILE):
            age = policy.age(MemoryScope.PROFILE)
            stays = age is None or with_zone(value.updated_at) >= self._at - age
        else:
            stays = bool(sources) or not value.source_ids
        return value.model_copy(update={"source_ids": sources}) if stays else None

    def _beyond(self, agent: str) -> list[str]:
        """Return the records of an agent above its maxima for a user, least recently confirmed or used first."""
        policy = self._policies[agent]
        if policy.max_memories is None and policy.max_bytes is None:
            return []
        at = {item.key: since_of(item) for item in self.left.values()}
        for item in self.left.values():
            for id_ in item.value.get("used") or ():
                at[id_] = max(since_of(item), at.get(id_, since_of(item)))
        counted = [
            item
            for item in self.left.values()
            if item.value.get("agent_id") == agent
            and kind_of(item.value).place
            and kind_of(item.value) not in _UNCOUNTED
        ]
        # what is held stays, and takes its room
        counted.sort(key=lambda item: (self._held.by(item.key) is None, -at[item.key].timestamp()))
        size = 0
        found: list[str] = []
        for records, item in enumerate(counted, start=1):
            size += len(json.dumps(item.value, ensure_ascii=False).encode("utf-8", "replace"))
            fits = records <= (policy.max_memories or records) and size <= (policy.max_bytes or size)
            if not fits and self._held.by(item.key) is None:
                found.append(item.key)
        return found[::-1]

    def _ended(self) -> list[str]:
        """Return the conversations that lost messages and have none left."""
        left = {str(item.value.get("session_id")) for item in self.left.values() if MESSAGE.matches(item.value)}
        return [one for one in self.said() if one not in left and self._held.session(one) is None]

    def said(self) -> dict[str, list[Item]]:
        """Return the removed messages, by conversation."""
        found: dict[str, list[Item]] = {}
        for item in self._items:
            if MESSAGE.matches(item.value) and (item.namespace, item.key) not in self.left:
                found.setdefault(str(item.value.get("session_id") or ""), []).append(item)
        return found

    def _unsourced_of(self, sessions: Collection[str], kinds: Collection[Kind] = ()) -> list[str]:
        """Return the records of conversations, of some kinds or all, without a source, a hold or a retention time."""
        found = []
        for item in self.left.values():
            kind, value = kind_of(item.value), item.value
            if kind in (PROFILE, CONCEPT) or (kinds and kind not in kinds) or value.get("source_ids"):
                continue
            goes = kind in _BOOKKEEPING or not self._policy(value).has(kind.place)
            if goes and value.get("session_id") in sessions and self._held.by(item.key) is None:
                found.append(item.key)
        return found


def since_of(item: Item) -> datetime:
    """Return the start of a record's age: its last confirmation or work on it, else its creation."""
    kind = kind_of(item.value)
    written = item.value.get(_SINCE.get(kind, "created_at")) or item.value.get("created_at")
    # the state of a flow is written again under one id
    return with_zone(item.updated_at if kind is FLOW_STATE or not written else datetime.fromisoformat(str(written)))


BATCH = 1_000  # records removed in one write, dependents not counted: a year's backlog blocks nobody
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

    Without a checkpointer ended threads stay. Records of agents without a policy go only with their sources.
    """
    total, moment = Retained(), at or now()
    most = sys.maxsize if dry_run else batch

    async def step() -> tuple[_Aging, list[Change]]:
        owned, aside = await everything(store, user_id), await set_aside(store, user_id)
        held = await asyncio.to_thread(HeldRecords, await holds_on(store, user_id), [*owned, *aside])
        found = await asyncio.to_thread(_Aging, owned, aside, policies, held, moment, most)
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
        total += Retained(done.removed, done.rewritten, conversations=len(done.ended))
        if dry_run or not done.more or not done.removed:
            break
    # of what is held every look tells anew
    total += Retained(held=done.held, users=int(bool(total.total)))
    if dry_run:
        return total
    if total.total or total.rewritten:
        forget_caches(store, user_id)
    for kind, count in total.removed.items():
        telemetry.count("retention.removed", count, source=kind)
    return total + Retained(threads=await _delete_threads(store, checkpointer, user_id))


async def _beside(store: BaseStore, user_id: str, found: _Aging, *, with_threads: bool) -> list[Change]:
    """Return the writes of bookkeeping, work and notes for the batch of a removal."""
    changes: list[Change] = [*await silenced(store, user_id, [*found.left.values()])]
    for session in found.ended:
        changes += [*without_marks(user_id, session), *await forgotten_work(store, user_id, session)]
    # an import may name a thread of somebody else's
    said = found.said()
    heard = spoken_in(item for session in found.ended for item in said[session])
    own = set(heard) if with_threads else set()
    namespace = meta_namespace(user_id)
    for session in sorted(own):
        # the thread goes behind the batch, which may fail: what is noted outlives a crash
        note = {"kind": _KIND, "session_id": session}
        changes += [without_forgotten(user_id, session), PutOp(namespace, record_id(_KIND, session), note, index=False)]
    marks = await thread_marks(store, user_id)
    changes += [PutOp(mark.namespace, mark.key, None) for mark in marks if mark.value.get("thread_id") in own]
    # a thread that goes on has its messages: nobody takes them up again, or shows them to a model
    still = {session: [item.key for item in items] for session, items in said.items() if session not in own}
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
