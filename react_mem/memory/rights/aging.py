"""Retention rules: the records beyond the ages and maxima of the agents' policies, and all that depends on them.

Pure functions over all records of an owner: nothing is read or written here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langgraph.store.base import Item, PutOp

from react_mem.memory.branches.tree import part_of
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
from react_mem.memory.model.namespaces import Namespace
from react_mem.memory.model.profile_schema import Profile, ProfileValue
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import now, with_zone
from react_mem.memory.model.retention_settings import RetentionSettings
from react_mem.memory.rights.erasure import erasing
from react_mem.memory.rights.forgetting import chains_without
from react_mem.memory.rights.holds import HeldRecords
from react_mem.memory.rights.unsaid import index_of, with_value
from react_mem.memory.scopes.profile import merged_field, values_of, with_text

Policies = Mapping[str, RetentionSettings]
"""Retention settings by agent: a record is judged by those of the agent that wrote it."""

_Place = tuple[Namespace, str]

_SINCE = {FACT: "said_at", TASK: "worked_at", PENDING: "created_at", FILE: "modified_at"}
"""Field with the time when a record was last confirmed, where that is not its creation."""

_BOOKKEEPING = (CONVERSATION, CHAIN)
"""Kinds with one record for each conversation that has a message left."""

_UNCOUNTED = (PROFILE, CONCEPT, CONVERSATION, CHAIN, FLOW_STATE, PENDING)
"""Kinds with one record for each user, conversation or name: maxima do not count them."""


@dataclass(frozen=True)
class Aged:
    """Result of applying retention to all records of an owner.

    `removed` counts by kind, `held` counts due records under a legal hold, `ended` names conversations without a
    message left, `said` has the removed messages by conversation, `more` is true if `most` was reached.
    """

    changes: Sequence[Change] = ()
    removed: Mapping[str, int] = field(default_factory=dict)
    rewritten: int = 0
    held: int = 0
    ended: Sequence[str] = ()
    said: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    left: Sequence[Item] = ()
    more: bool = False


def aged(
    owned: Sequence[Item], aside: Sequence[Item], policies: Policies, held: HeldRecords, at: datetime, most: int
) -> Aged:
    """Return the result of applying the policies to an owner's records.

    Args:
        owned: All records of the owner.
        aside: Records set aside with an abandoned branch of a conversation.
        most: Records to remove at once, not counting those that depend on them.
    """
    # of two under one id, in a scope and set aside, the one in the scope says what stands on it
    items = [*aside, *owned]
    due = sorted(_due(items, policies, at), key=lambda pair: pair[0])
    free = [item for _, item in due if held.by(item.key) is None]
    view = _Remainder(items, policies, held)
    if held.whole is not None:
        return view.outcome((), len(due), more=False)
    view.erase({item.key for item in _first(free, most)}, view.outlives)
    view.without_old_values(at)
    view.erase(view.unsourced_of(view.ended()), view.outlives)
    beyond = [id_ for agent in policies for id_ in view.beyond(agent)]
    view.erase(beyond[:most], view.outlives_elsewhere)
    ended = view.ended()
    # of a conversation that went to make room, what is known from it stays
    view.erase(view.unsourced_of(ended, _BOOKKEEPING), view.outlives_elsewhere)
    view.shorten_chains()
    kept = sum(held.by(item.key) is not None for _, item in due)
    return view.outcome(ended, kept, more=len(free) > most or len(beyond) > most)


def _due(items: Iterable[Item], policies: Policies, at: datetime) -> list[tuple[datetime, Item]]:
    """Return the records older than their agents allow, each with the start of its age."""
    tasks = {item.key: item for item in items if TASK.matches(item.value)}
    found: list[tuple[datetime, Item]] = []
    for item in items:
        kind = kind_of(item.value)
        policy = policies.get(str(item.value.get("agent_id")))
        if policy is None or kind in (PROFILE, CONCEPT, *_BOOKKEEPING):
            continue
        age = policy.age(MemoryScope.DIALOG if kind is PENDING else kind.place)
        dated = tasks.get(str(item.value.get("task_id")), item) if kind is TASK_STEP else item
        if age is not None and (since := since_of(dated)) < at - age:
            found.append((since, item))
    return found


def _first(due: Sequence[Item], most: int) -> Sequence[Item]:
    """Return the records to remove first where not all can go at once: no other due record derives from them.

    Otherwise a record drawn from two messages would lose one source, and count as held where the other is.
    """
    if len(due) <= most:
        return due
    sources = {part_of(id_) for item in due for id_ in item.value.get("source_ids") or ()}
    return ([item for item in due if item.key not in sources] or due)[:most]


def since_of(item: Item) -> datetime:
    """Return the start of a record's age: its last confirmation or work on it, else its creation."""
    kind = kind_of(item.value)
    written = item.value.get(_SINCE.get(kind, "created_at")) or item.value.get("created_at")
    # the state of a flow is written again under one id
    return with_zone(item.updated_at if kind is FLOW_STATE or not written else datetime.fromisoformat(str(written)))


class _Remainder:
    """Records of an owner that remain while some are removed."""

    def __init__(self, items: Sequence[Item], policies: Policies, held: HeldRecords) -> None:
        self._items = items
        self._policies = policies
        self._held = held
        self._left: dict[_Place, Item] = {(item.namespace, item.key): item for item in items}
        self._places = {item.key: kind_of(item.value).place for item in items}
        self._gone: set[str] = set()

    def outlives(self, value: Mapping[str, Any], source: str) -> bool:
        """Return true if a record stays without a source: it is held, or its scope has a retention time of its own."""
        if self._held.by(str(value.get("id"))) is not None:
            return True
        policy = self._policies.get(str(value.get("agent_id")))
        place = kind_of(value).place
        return policy is not None and policy.has(place) and place != self._places.get(part_of(source))

    def outlives_elsewhere(self, value: Mapping[str, Any], source: str) -> bool:
        """Return true if a record stays although its source went to make room: it is in another scope, or held."""
        if PENDING.matches(value):
            return self._held.by(str(value.get("id"))) is not None
        return self.outlives(value, source) or kind_of(value).place != self._places.get(part_of(source))

    def erase(self, ids: Collection[str], outlives: Callable[[Mapping[str, Any], str], bool]) -> None:
        """Remove records with all that derives from them alone."""
        if not ids:
            return
        rest = [item for item in self._left.values() if not PROFILE.matches(item.value)]
        changes = erasing(rest, ids, revives=False, outlives=outlives)
        gone = {change.key for change in changes if change.value is None}
        self._gone |= gone
        for change in changes:
            place = (change.namespace, change.key)
            if change.value is not None:
                # of a concept that named two, one may be made anew
                known = self._left.get(place) or _new(place, change.value)
                self._left[place] = with_value(known, change.value)
        for place in [place for place in self._left if place[1] in gone]:
            del self._left[place]

    def without_old_values(self, at: datetime) -> None:
        """Remove profile values that are too old or have only removed sources."""
        for place, item in list(self._left.items()):
            if not PROFILE.matches(item.value):
                continue
            profile = Profile.from_value(item.value)
            policy = self._policies.get(profile.agent_id, RetentionSettings())
            held = {name: list(values_of(entry)) for name, entry in profile.fields.items()}
            kept = {
                name: values
                for name, all_ in held.items()
                if (values := [left for one in all_ if (left := self._kept(one, policy, at)) is not None])
            }
            if kept == held:
                continue
            if not any(value.value for values in kept.values() for value in values):
                del self._left[place]
            else:
                fields = {name: merged_field(values) for name, values in kept.items()}
                self._left[place] = with_value(
                    item, with_text(profile.model_copy(update={"fields": fields})).to_value()
                )

    def _kept(self, value: ProfileValue, policy: RetentionSettings, at: datetime) -> ProfileValue | None:
        if any(self._held.by(id_) is not None for id_ in value.source_ids):
            return value
        sources = tuple(id_ for id_ in value.source_ids if part_of(id_) not in self._gone)
        if policy.has(MemoryScope.PROFILE):
            age = policy.age(MemoryScope.PROFILE)
            stays = age is None or with_zone(value.updated_at) >= at - age
        else:
            stays = bool(sources) or not value.source_ids
        return value.model_copy(update={"source_ids": sources}) if stays else None

    def beyond(self, agent: str) -> list[str]:
        """Return the records of an agent above its maxima for a user, least recently confirmed or used first."""
        policy = self._policies[agent]
        if policy.max_memories is None and policy.max_bytes is None:
            return []
        used: dict[str, datetime] = {}
        for item in self._left.values():
            for id_ in item.value.get("used") or ():
                used[id_] = max(since_of(item), used.get(id_, since_of(item)))
        counted = [
            item
            for item in self._left.values()
            if item.value.get("agent_id") == agent
            and kind_of(item.value).place
            and kind_of(item.value) not in _UNCOUNTED
        ]
        # what is held stays, and takes its room
        counted.sort(key=lambda item: (self._held.by(item.key) is None, -_at(item, used).timestamp()))
        size = 0
        found: list[str] = []
        for records, item in enumerate(counted, start=1):
            size += len(json.dumps(item.value, ensure_ascii=False).encode("utf-8", "replace"))
            fits = records <= (policy.max_memories or records) and size <= (policy.max_bytes or size)
            if not fits and self._held.by(item.key) is None:
                found.append(item.key)
        return found[::-1]

    def ended(self) -> list[str]:
        """Return the conversations that lost messages and have none left."""
        left = {str(item.value.get("session_id")) for item in self._left.values() if MESSAGE.matches(item.value)}
        return [one for one in self.said() if one not in left and self._held.session(one) is None]

    def said(self) -> dict[str, list[Item]]:
        """Return the removed messages, by conversation."""
        found: dict[str, list[Item]] = {}
        for item in self._items:
            if MESSAGE.matches(item.value) and (item.namespace, item.key) not in self._left:
                found.setdefault(str(item.value.get("session_id") or ""), []).append(item)
        return found

    def unsourced_of(self, sessions: Collection[str], kinds: Collection[Kind] = ()) -> list[str]:
        """Return the records of conversations, of some kinds or all, without a source or retention time."""
        found = []
        for item in self._left.values():
            kind, value = kind_of(item.value), item.value
            if (
                kind in (PROFILE, CONCEPT)
                or (kinds and kind not in kinds)
                or value.get("source_ids")
                or value.get("session_id") not in sessions
            ):
                continue
            policy = self._policies.get(str(value.get("agent_id")), RetentionSettings())
            if (kind in _BOOKKEEPING or not policy.has(kind.place)) and self._held.by(item.key) is None:
                found.append(item.key)
        return found

    def shorten_chains(self) -> None:
        """Remove deleted entries from the summary chains of conversations that go on, unless held."""
        free = [item for item in self._left.values() if self._held.by(item.key) is None]
        for change in chains_without(free, {}, self._gone):
            place = (change.namespace, change.key)
            self._left[place] = with_value(self._left[place], change.value or {})

    def outcome(self, ended: Sequence[str], held: int, *, more: bool) -> Aged:
        """Return the result."""
        gone = [item for item in self._items if (item.namespace, item.key) not in self._left]
        before = {(item.namespace, item.key): item.value for item in self._items}
        less = [item for place, item in self._left.items() if item.value != before.get(place)]
        changes: list[Change] = [PutOp(item.namespace, item.key, None) for item in gone]
        changes += [PutOp(item.namespace, item.key, item.value, index=index_of(item)) for item in less]
        removed = Counter(kind_of(item.value).name or "other" for item in gone)
        return Aged(changes, removed, len(less), held, ended, self.said(), [*self._left.values()], more)


def _at(item: Item, used: Mapping[str, datetime]) -> datetime:
    return max(since_of(item), used.get(item.key, since_of(item)))


def _new(place: _Place, value: Mapping[str, Any]) -> Item:
    at = now()
    return Item(value=dict(value), key=place[1], namespace=place[0], created_at=at, updated_at=at)
