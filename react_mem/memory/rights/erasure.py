"""Erasure of a conversation with everything derived from it, or of a user.

Threads are deleted first and records last, since the records name the threads: an interrupted erasure can be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item, PutOp

from react_mem.memory.graph.links import fall
from react_mem.memory.merging.authors import silenced
from react_mem.memory.merging.concept_store import concepts_without
from react_mem.memory.merging.forks import forgotten_branches, part_of
from react_mem.memory.merging.reconcile import says_again
from react_mem.memory.model.interface import named_session
from react_mem.memory.model.kinds import CONCEPT, FACT, KINDS, MESSAGE, PROFILE, kind_of
from react_mem.memory.model.namespaces import ATTACHMENTS, LINKS, META, encode, meta_namespace, owner_namespace
from react_mem.memory.model.operations import UNREAD, Change, Check, Receipt
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.profile_schema import Profile, ProfileValue
from react_mem.memory.model.records import BELIEVED, Ending, Fact
from react_mem.memory.rights.hidden import Place, hidden_without
from react_mem.memory.rights.holds import (
    HeldRecords,
    Pausing,
    check_held,
    forget_caches,
    holds_on,
    is_paused,
    refuse_held,
)
from react_mem.memory.rights.receipts import check, read_again, receipt_of
from react_mem.memory.rights.unsaid import without_forgotten
from react_mem.memory.scopes.profile import split_fields, with_text
from react_mem.memory.store.attachments import erase_attachments, sizes, unattached
from react_mem.memory.store.audit_log import ALL, AuditAction, note_action
from react_mem.memory.store.capabilities import WHOLE, capabilities, everything, set_aside
from react_mem.memory.store.checkpointer import thread_marks, threads_of
from react_mem.memory.store.left_traces import Traces
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import forgotten_work

_Result = TypeVar("_Result")

_AT_ONCE = 4  # threads that are deleted or looked for at once


class ErasedSessions(list[str]):
    """Conversations of an erased user, with the receipt."""

    def __init__(self, sessions: Iterable[str], receipt: Receipt) -> None:
        super().__init__(sessions)
        self.receipt = receipt


class Erasure(Pausing):
    """Erasure of a conversation or a user."""

    async def delete_session(self, user_id: str, session_id: str, *, proof: bool = False) -> Receipt:
        """Forget one conversation of one owner: its messages, its thread, and all memories derived from it.

        Memories that other conversations support too keep that support.

        Args:
            proof: True to look through every table of the database afterwards, which may take a while.

        Returns:
            The removed records, and the remains found afterwards.

        Raises:
            ValueError: If no conversation is named.
        """
        store, checkpointer = self.store, self.checkpointer
        named_session(session_id)
        if (hold := HeldRecords(await holds_on(store, user_id)).session(session_id)) is not None:
            # before the thread goes
            refuse_held(hold)
        marks = [item for item in await thread_marks(store, user_id) if item.value.get("thread_id") == session_id]
        items = [*await everything(store, user_id), *await set_aside(store, user_id)]
        threads = [session_id] if marks or session_id in spoken_in(items) else []
        if checkpointer is not None:
            threads = threads or await threads_of(checkpointer, user_id, session_id) or []
            await few_at_once(checkpointer.adelete_thread, threads)

        async def step() -> tuple[tuple[list[Item], list[Change]], list[Change]]:
            owned = await everything(store, user_id)
            aside = await set_aside(store, user_id)
            said = [item for item in aside if MESSAGE.matches(item.value)]
            changes = [
                *await asyncio.to_thread(forgetting, [*owned, *said], session_id),
                *forgotten_branches(user_id, session_id, aside),
                without_forgotten(user_id, session_id),
                *(PutOp(item.namespace, item.key, None) for item in marks),
            ]
            every = [*owned, *aside]
            await check_held(store, user_id, every, changes)
            changes += await unattached(store, user_id, every, changes)
            gone = {(change.namespace, change.key) for change in changes if change.value is None}
            left = [item for item in owned if (item.namespace, item.key) not in gone]

            def without(hidden: Sequence[Item]) -> dict[Place, Mapping[str, Any] | None]:
                past = {(item.namespace, item.key): item for item in hidden}
                known = {(item.namespace, item.key): item for item in (*owned, *said)} | past
                changed = forgetting(list(known.values()), session_id)
                return {place: one.value for one in changed if (place := (one.namespace, one.key)) in past}

            beside = [
                *await silenced(store, user_id, left),
                *await forgotten_work(store, user_id, session_id),
                *await hidden_without(store, user_id, without),
            ]
            return (every, changes), [*changes, *beside]

        before, changes = await transact(store, user_id, step)
        forget_caches(store, user_id)
        receipt = await checked(
            store, checkpointer, user_id, before, changes, session_id=session_id, threads=threads, proof=proof
        )
        note_action(store, user_id, AuditAction.ERASE, receipt.counts)
        return receipt

    async def forget_user(self, user_id: str, *, proof: bool = False) -> ErasedSessions:
        """Forget everything about one user: every scope, pending work, and the threads. A pause of theirs goes on.

        Args:
            proof: True to look through every table of the database afterwards, which may take a while.

        Returns:
            The conversations there were: a caller with threads elsewhere deletes them there. Its `receipt`
            lists the removed records, and the remains found afterwards.
        """
        store, checkpointer = self.store, self.checkpointer
        paused = await is_paused(store, user_id)
        marks = await thread_marks(store, user_id)
        threads = dict.fromkeys(str(item.value["thread_id"]) for item in marks)
        if checkpointer is not None:
            threads |= dict.fromkeys(await threads_of(checkpointer, user_id) or ())

        async def step() -> tuple[tuple[list[str], list[Item], list[Change]], list[Change]]:
            for hold in await holds_on(store, user_id):
                refuse_held(hold)
            items = [*await everything(store, user_id), *await set_aside(store, user_id)]
            sessions = list(threads | dict.fromkeys(spoken_in(items)))
            if checkpointer is not None:
                await few_at_once(checkpointer.adelete_thread, sessions)
            gone = await asyncio.to_thread(lambda: [PutOp(one.namespace, one.key, None) for one in (*items, *marks)])
            return (sessions, items, gone), [*gone, *await forgotten_work(store, user_id)]

        # a worker that has read before this and writes after it finds the revision changed, and nothing left to write
        sessions, before, changes = await transact(store, user_id, step, erases=True)
        rest = await store.asearch(owner_namespace(user_id), limit=WHOLE, refresh_ttl=False)
        await store.abatch([PutOp(one.namespace, one.key, None) for one in rest if one.namespace[2] in (LINKS, META)])
        await erase_attachments(store, user_id)
        forget_caches(store, user_id)
        receipt = await checked(store, checkpointer, user_id, before, changes, threads=sessions, proof=proof)
        if paused:
            # it is written anew: the receipt has found nothing
            await self.pause(user_id)
        note_action(store, user_id, AuditAction.ERASE, {ALL: 1, **receipt.counts})
        return ErasedSessions(sessions, receipt)


def spoken_in(items: Iterable[Item]) -> list[str]:
    """Return the conversations in which an owner spoke or was answered, by messages of our own threads.

    Imports and clients may name any conversation. See `note_thread` for threads without messages.
    """
    said = (item.value for item in items if MESSAGE.matches(item.value))
    heard = (value for value in said if value.get("origin") != Origin.IMPORT and not value.get("elsewhere"))
    return list(dict.fromkeys(str(value["session_id"]) for value in heard if value.get("session_id")))


def forgetting(items: Sequence[Item], session_id: str) -> list[Change]:
    """Return the writes that forget one conversation, given all records of the owner."""
    said = {item.key for item in items if MESSAGE.matches(item.value) and _is_of(item.value, session_id)}
    return erasing(items, said, session_id)


def erasing(
    items: Sequence[Item],
    erased: Collection[str],
    session_id: str | None = None,
    *,
    cut: Collection[str] = (),
    made_anew: Collection[str] = (),
    revives: bool = True,
    is_unsaid: Callable[[str, ProfileValue, str], bool] = lambda _field, _value, _source: False,
    outlives: Callable[[Mapping[str, Any], str], bool] = lambda _value, _source: False,
) -> list[Change]:
    """Return the writes that erase some records with everything that derives from them alone.

    Of a conversation (`session_id`) the records without a source go too, and what retells a shortened message (`cut`),
    unless `made_anew`. If it `revives`, a fact that an erased one had ended is believed again. `is_unsaid` tells
    whether a source no longer states the value of a profile field, `outlives` whether a record stays without a source.
    """
    said_in = {item.key: str(item.value.get("session_id", "")) for item in items}
    profiles = [item for item in items if PROFILE.matches(item.value)]
    concepts = [item for item in items if CONCEPT.matches(item.value)]
    left = {item.key: item for item in items if kind_of(item.value) not in (PROFILE, CONCEPT)}
    gone: dict[str, Item] = {}

    def elsewhere(source: str, value: Mapping[str, Any]) -> bool:
        record = part_of(source)
        if record in said_in:
            # nobody can tell which part of what they say it is
            retold = kind_of(value).told_in and value.get("id") not in made_anew
            return record not in gone and not (record in cut and retold)
        # not a record: a source that only the one who wrote this knows
        return not _is_of(value, session_id)

    def stays(source: str, value: Mapping[str, Any]) -> bool:
        return elsewhere(source, value) or outlives(value, source)

    gone |= {id_: left.pop(id_) for id_ in erased if id_ in left}
    fall(left, gone, stands=stays, unsourced=lambda value: _is_of(value, session_id))
    changes: list[Change] = [PutOp(item.namespace, item.key, None) for item in gone.values()]
    for item in left.values():
        value = dict(item.value)
        kind = kind_of(value)
        for name in kind.refers:
            if any(_named(one) in gone for one in value.get(name) or ()):
                value[name] = [one for one in value[name] if _named(one) not in gone]
        if not gone.keys().isdisjoint(value.get("alike", ())):
            value["alike"] = {id_: weight for id_, weight in value["alike"].items() if id_ not in gone}
        if kind is FACT and value.get("wordings"):
            value |= _reworded(value, partial(stays, value=item.value))
        kept = [source for source in value.get("source_ids", ()) if elsewhere(source, value)]
        if len(kept) < len(value.get("source_ids", ())):
            value["source_ids"] = kept
            if kind is FACT:
                value["support"] = max(len(kept), 1)
        if kind.supported:
            if any(not elsewhere(source, value) for source in value.get("withdrawn", ())):
                value["withdrawn"] = [source for source in value["withdrawn"] if elsewhere(source, value)]
            if value.get("superseded_by") in gone:
                value |= _successor(value, gone, left, revives=revives)
        if _is_of(value, session_id) and value.get("source_ids"):
            value["session_id"] = said_in.get(value["source_ids"][0], "")
        if value != item.value:
            changes.append(PutOp(item.namespace, item.key, value))
    for item in profiles:
        changes += _profile_without(
            item, session_id, lambda field, value, source: source in gone or is_unsaid(field, value, source)
        )
    return [*changes, *concepts_without(concepts, gone)]


def _named(reference: Any) -> Any:
    """Return the id in a reference: the reference itself, or its "to"."""
    return reference["to"] if isinstance(reference, Mapping) else reference


def _is_of(value: Mapping[str, Any], session_id: str | None) -> bool:
    return session_id is not None and value.get("session_id") == session_id


def _reworded(value: Mapping[str, Any], stands: Callable[[str], bool]) -> dict[str, Any]:
    """Return the changed fields of a fact with several wordings, after some of their sources are gone."""
    wordings = value["wordings"]
    kept = [one for one in wordings if not one["source_ids"] or any(map(stands, one["source_ids"]))]
    beside = {source for one in wordings for source in one["source_ids"]}
    own = [source for source in (*value.get("source_ids", ()), *value.get("withdrawn", ())) if source not in beside]
    said = [one for one in kept if one["source_ids"]]
    is_unsaid = bool(own) and bool(said) and not any(map(stands, own))
    if len(kept) == len(wordings) and not is_unsaid:
        return {}
    # nobody can tell whose words these were made of
    changed: dict[str, Any] = {"wordings": kept, "reading": "", "keywords": ""}
    if is_unsaid:
        changed |= {"text": said[-1]["text"], "quote": "", "wordings": [one for one in kept if one is not said[-1]]}
    return {name: part for name, part in changed.items() if part or value.get(name)}


def _successor(
    value: Mapping[str, Any], gone: Mapping[str, Item], left: Mapping[str, Item], *, revives: bool
) -> dict[str, Any]:
    """Return the new end of a fact without its successor; a fact only restated ends as the restatement did."""
    last, is_restated = value, True
    while (id_ := str(last.get("superseded_by") or "")) in gone:
        heir = gone[id_].value
        both = FACT.matches(heir) and FACT.matches(last)
        is_restated &= both and says_again(Fact.from_value(dict(heir)), Fact.from_value(dict(last)))
        last = heir
    if id_ in left:
        return {"superseded_by": id_, "valid_to": left[id_].value["said_at"]}
    ended_by = [source for source in last.get("ended_by") or () if part_of(source) not in gone]
    if is_restated and not id_ and ended_by:
        return {**{name: last.get(name) for name in Ending.model_fields}, "ended_by": ended_by}
    return dict(BELIEVED) if revives or is_restated else {"superseded_by": None}


def _profile_without(
    item: Item, session_id: str | None, is_gone: Callable[[str, ProfileValue, str], bool]
) -> list[Change]:
    """Return the writes that remove the values of a profile that only forgotten messages state."""
    profile = Profile.from_value(item.value)
    fields, _ = split_fields(profile.fields, is_gone)
    update = {"fields": fields, "session_id": "" if profile.session_id == session_id else profile.session_id}
    if all(getattr(profile, name) == after for name, after in update.items()):
        # its text may name the fields in another order than a database returns them in
        return []
    after = with_text(profile.model_copy(update=update))
    return [PutOp(item.namespace, item.key, after.to_value() if fields else None)]


# The receipts of what is erased as a whole: threads and bookkeeping are checked too.


async def checked(
    store: BaseStore,
    checkpointer: BaseCheckpointSaver[Any] | None,
    user_id: str,
    items: Sequence[Item],
    changes: Sequence[Change],
    *,
    session_id: str | None = None,
    threads: Sequence[str] = (),
    proof: bool = False,
) -> Receipt:
    """Return the receipt of an erasure with its checks, given all records of the owner as they were.

    Without a `session_id` it is of the whole user; with `proof` every table of the database is searched.
    """

    def removed() -> tuple[Receipt, list[str]]:
        """Return the receipt of the writes, and the texts of the removed records."""
        gone = {(change.namespace, change.key) for change in changes if change.value is None}
        erased = [item for item in items if (item.namespace, item.key) in gone]
        messages = sum(MESSAGE.matches(item.value) and item.value.get("role") == "user" for item in erased)
        indexed = [kind for kind in KINDS.values() if kind.indexed]
        # what is known before what was said
        asked = [str(item.value.get("text") or "") for kind in indexed for item in erased if kind.matches(item.value)]
        return receipt_of(items, changes, messages), asked

    receipt, asked = await asyncio.to_thread(removed)
    erased = receipt.gone

    def says(item: Item) -> bool:
        return session_id is None or item.value.get("session_id") == session_id

    more = {
        "threads": _threads(checkpointer, user_id, session_id, threads),
        "bookkeeping": _bookkeeping(store, user_id, session_id),
        "attachments": _attachments(store, user_id, changes, session_id),
    }
    checks = await read_again(store, user_id, erased, says, asked, more, in_turn=False)
    if proof:
        said = [str(item.value.get("text") or "") for item in items if item.key in erased]
        traces = Traces(encode(user_id), user_id, tuple(erased), tuple(threads), tuple(said), whole=session_id is None)
        found = await capabilities(store).atraces(traces)
        if found is None:
            every = await store.asearch((), limit=WHOLE, refresh_ttl=False)
            theirs = [item.key for item in every if traces.owner in item.namespace[1:2]]
            found = [check("items", [key for key in theirs if traces.whole or key in traces.keys])]
        checks += tuple(found)
    return receipt.model_copy(update={"checks": checks})


async def _attachments(
    store: BaseStore, user_id: str, changes: Sequence[Change], session_id: str | None
) -> AsyncIterator[Check]:
    """Check the attachments: the removed ones of a conversation, or any of a user."""
    gone = {change.key for change in changes if change.namespace[0] == ATTACHMENTS and change.value is None}
    left = await sizes(store, user_id)
    yield check("attachments", left if session_id is None else gone & left.keys())


async def _threads(
    checkpointer: BaseCheckpointSaver[Any] | None, user_id: str, session_id: str | None, threads: Sequence[str]
) -> AsyncIterator[Check]:
    """Check that the threads are deleted and no other thread names the user."""
    if checkpointer is None:
        yield Check(name=f"{UNREAD} threads", problem="no checkpointer was given, so they are the caller's to delete")
        return
    states = await few_at_once(lambda id_: checkpointer.aget_tuple({"configurable": {"thread_id": id_}}), threads)
    found = [id_ for id_, state in zip(threads, states, strict=True) if state is not None]
    named = await threads_of(checkpointer, user_id, session_id)
    yield check("threads", [*found, *(named or ())])
    if named is None:
        problem = "the checkpointer lists none: those of other graphs were not looked for"
        yield Check(name=f"{UNREAD} threads", problem=problem)


async def few_at_once(do: Callable[[str], Awaitable[_Result]], ids: Sequence[str]) -> list[_Result]:
    """Call a function for many ids, a few at a time, and return the results in order: others need connections too."""
    results: list[_Result] = []
    for start in range(0, len(ids), _AT_ONCE):
        results += await asyncio.gather(*map(do, ids[start : start + _AT_ONCE]))
    return results


async def _bookkeeping(store: BaseStore, user_id: str, session_id: str | None) -> AsyncIterator[Check]:
    """Check the queue, the terminal's bookmarks and the owner's notes."""
    yield check("work", [change.key for change in await forgotten_work(store, user_id, session_id)])
    marks = await thread_marks(store, user_id)
    yield check("bookmarks", [one.key for one in marks if session_id in (None, one.value.get("thread_id"))])
    if session_id is None:
        noted = await store.asearch(meta_namespace(user_id), limit=WHOLE, refresh_ttl=False)
        yield check("bookkeeping", [item.key for item in noted])
