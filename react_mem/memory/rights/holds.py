"""Legal holds, which the operator sets and which stop every forgetting; and the owner's pause, which stops storing.

A hold is bookkeeping of its owner and written in a transaction: a forgetting that began before it finds a changed
revision, looks again, and stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item, PutOp

from react_mem.errors import LegalHoldError
from react_mem.memory.llm.causes import checked_calls
from react_mem.memory.merging.authors import forget_speakers
from react_mem.memory.merging.forks import part_of
from react_mem.memory.model.kinds import CONCEPT, PROFILE, kind_of
from react_mem.memory.model.namespaces import META, Namespace, meta_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.policy import LegalHold, MemoryPolicy
from react_mem.memory.model.profile_schema import Profile
from react_mem.memory.model.records import Ending, now, record_id
from react_mem.memory.retrieval import last_known
from react_mem.memory.scopes.profile import values_of
from react_mem.memory.store.audit_log import ALL, AuditAction, note_action
from react_mem.memory.store.capabilities import WHOLE, users_with
from react_mem.memory.store.checkpointer import forget_threads
from react_mem.memory.store.room import forget_count
from react_mem.memory.store.transactions import transact

# Base of the parts of the facade, and the caches that a forgetting drops.


class FacadePart:
    """Calls of the facade on one subject; each checks the types of its arguments."""

    store: BaseStore
    policy: MemoryPolicy
    checkpointer: BaseCheckpointSaver[Any] | None

    def __init_subclass__(cls) -> None:
        checked_calls(cls)


def forget_caches(store: BaseStore, user_id: str) -> None:
    """Drop everything that this process caches about a user outside of the store."""
    forget_speakers(store, user_id)
    forget_threads(store, user_id)
    forget_count(store, user_id)
    last_known.forget(store, user_id)


_KIND = "hold"
_POINTERS = frozenset(Ending.model_fields) | {"source_ids", "withdrawn", "support", "alike", "current", "session_id"}
"""Fields that relate a record to others and may change under a hold: they are no content of the record."""


class LegalHolds(FacadePart):
    """Legal holds of an owner, for the operator."""

    async def hold(self, user_id: str, reference: str, session_id: str = "") -> LegalHold:
        """Put a user, or one conversation of theirs, under a legal hold: nothing of it is removed until it is lifted.

        Neither retention nor any call that forgets removes it; those raise `LegalHoldError`. No tool of an agent and no
        route of the server sets or lifts a hold: only code like this, or `react-mem hold`, does.

        Args:
            user_id: The owner. There need be no memories of them yet.
            reference: Name of the hold, such as the number of a case.
            session_id: The conversation; empty for everything, also future conversations.

        Returns:
            The hold; where it was set before, as it was set then.

        Raises:
            ValueError: If the reference is empty, longer than 100 characters, or not one printable line.
        """
        wanted = LegalHold(reference=reference, session_id=session_id)
        place = _place(user_id, reference, session_id)

        async def step() -> tuple[LegalHold, list[Change]]:
            known = await self.store.aget(*place, refresh_ttl=False)
            if known is not None:
                return LegalHold.model_validate(known.value), []
            return wanted, [PutOp(*place, wanted.model_dump(mode="json"), index=False)]

        hold = await transact(self.store, user_id, step)
        note_action(self.store, user_id, AuditAction.HOLD, {ALL: 1})
        return hold

    async def lift_hold(self, user_id: str, reference: str, session_id: str = "") -> bool:
        """Lift a legal hold; other holds stay.

        Args:
            session_id: The conversation; empty where the hold is on everything.
        """
        place = _place(user_id, reference, session_id)

        async def step() -> tuple[bool, list[Change]]:
            known = await self.store.aget(*place, refresh_ttl=False)
            return known is not None, [PutOp(*place, None)] if known is not None else []

        lifted = await transact(self.store, user_id, step)
        note_action(self.store, user_id, AuditAction.LIFT, {ALL: int(lifted)})
        return lifted

    async def holds(self, user_id: str) -> list[LegalHold]:
        """Return the legal holds on a user and on conversations of theirs, the oldest first."""
        return await holds_on(self.store, user_id)


_PAUSE = "pause"


class Pausing(FacadePart):
    """Pause of an owner's memory: it stores nothing more, and known memories are used all the same."""

    async def pause(self, user_id: str, *, paused: bool = True) -> bool:
        """Pause a user's memory, which stores no more turns, or with `paused=False` go on; return true while paused.

        What was said before and waits is still read. Turns of a pause are not made up for once it is over.
        """
        value = {"kind": _PAUSE, "since": now().isoformat()} if paused else None

        async def step() -> tuple[bool, list[Change]]:
            changes = [PutOp(meta_namespace(user_id), _PAUSE, value, index=False)]
            return paused, changes if await is_paused(self.store, user_id) is not paused else []

        return await transact(self.store, user_id, step)

    async def paused(self, user_id: str) -> bool:
        """Return true while a user wants nothing more remembered."""
        return await is_paused(self.store, user_id)


async def is_paused(store: BaseStore, user_id: str) -> bool:
    """Return true while an owner wants nothing more remembered."""
    return await store.aget(meta_namespace(user_id), _PAUSE, refresh_ttl=False) is not None


def _place(user_id: str, reference: str, session_id: str) -> tuple[Namespace, str]:
    return meta_namespace(user_id), record_id(_KIND, reference, session_id)


async def holds_on(store: BaseStore, user_id: str) -> list[LegalHold]:
    """Return the legal holds on a user and their conversations, the oldest first."""
    found = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=WHOLE, refresh_ttl=False)
    return sorted((LegalHold.model_validate(item.value) for item in found), key=lambda hold: hold.set_at)


async def all_holds(store: BaseStore) -> dict[str, list[LegalHold]]:
    """Return all legal holds, by owner."""
    return {user: found for user in await users_with(store, META) if (found := await holds_on(store, user))}


class HeldRecords:
    """Records of an owner that may be neither removed nor changed in content.

    Under a hold on a conversation these are its records, and the records derived from nothing else.
    """

    def __init__(self, holds: Sequence[LegalHold], items: Iterable[Item] = ()) -> None:
        self.whole = next((hold for hold in holds if not hold.session_id), None)
        self._sessions = {hold.session_id: hold for hold in holds if hold.session_id}
        self._records: dict[str, LegalHold] = {}
        if self.whole is not None or not self._sessions:
            return
        rest: list[Item] = []
        for item in items:
            if CONCEPT.matches(item.value):
                continue
            hold = self._sessions.get(str(item.value.get("session_id") or ""))
            if hold is not None and not PROFILE.matches(item.value):
                self._records[item.key] = hold
            else:
                rest.append(item)
        rest = [item for item in rest if item.value.get("source_ids")]
        while found := [item for item in rest if self._records.keys() >= set(map(part_of, item.value["source_ids"]))]:
            for item in found:
                self._records[item.key] = self._records[part_of(item.value["source_ids"][0])]
            rest = [item for item in rest if item.key not in self._records]

    def by(self, id_: str) -> LegalHold | None:
        """Return the hold on a record; None where it may go."""
        return self.whole or self._records.get(part_of(id_))

    def session(self, session_id: str) -> LegalHold | None:
        """Return the hold on a conversation; None where it may go."""
        return self.whole or self._sessions.get(session_id)

    def check(self, items: Iterable[Item], changes: Iterable[Change]) -> None:
        """Refuse changes that remove held content, given all records of the owner: `LegalHoldError`."""
        if self.whole is not None:
            refuse_held(self.whole)
        if not self._records:
            return
        after = {(change.namespace, change.key): change.value for change in changes}
        for item in items:
            place = (item.namespace, item.key)
            if place in after and (hold := self._lost(item, after[place])) is not None:
                refuse_held(hold)

    def _lost(self, item: Item, after: Mapping[str, Any] | None) -> LegalHold | None:
        if PROFILE.matches(item.value):
            left = _values(after) if after is not None else {}
            lost = (sources for said, sources in _values(item.value).items() if said not in left)
            return next((hold for sources in lost for id_ in sources if (hold := self.by(id_)) is not None), None)
        hold = self._records.get(item.key)
        if hold is None or (after is not None and _words(after) == _words(item.value)):
            return None
        return hold


async def check_held(store: BaseStore, user_id: str, items: Iterable[Item], changes: Iterable[Change]) -> None:
    """Refuse changes that remove content under a legal hold, given the records as they are: `LegalHoldError`."""
    if found := await holds_on(store, user_id):
        kept = [*items]
        await asyncio.to_thread(lambda: HeldRecords(found, kept).check(kept, changes))


def refuse_held(hold: LegalHold) -> None:
    """Raise `LegalHoldError`, with the hold and the cure in its message."""
    raise LegalHoldError(
        f"{hold.in_short()}: nothing of it can be removed. Whoever runs the database lifts it, with "
        "`react-mem hold lift`, once it is over",
        reference=hold.reference,
    )


def _words(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a record, without references to others."""
    without = _POINTERS.union(kind_of(value).refers)
    return {name: part for name, part in value.items() if name not in without and part}


def _values(value: Mapping[str, Any]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the sources of each present and former profile value, by field and value."""
    fields = Profile.from_value(dict(value)).fields
    return {(name, one.value): one.source_ids for name, entry in fields.items() for one in values_of(entry)}
