"""Reversible forgetting: a wish that a model read hides memories at once, and erases them a day later unless undone.

Every removal and rewrite is written as if for good, so that no reader finds the memories; a note keeps their former
values. Undoing writes these back; erasing deletes the note.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.errors import LegalHoldError, NotThere
from react_mem.memory.graph.links import fall
from react_mem.memory.merging import forks
from react_mem.memory.merging.facts import fact_changes
from react_mem.memory.model.kinds import CHAIN, FACT, MESSAGE, PENDING, PROFILE, SUMMARY, kind_of, title_of
from react_mem.memory.model.namespaces import ABANDONED, META, Namespace, meta_namespace
from react_mem.memory.model.operations import Change, Check, Receipt
from react_mem.memory.model.profile_schema import Profile
from react_mem.memory.model.records import BELIEVED, Fact, now, record_id
from react_mem.memory.model.views import HiddenMemory, UndoneWrite
from react_mem.memory.rights.holds import FacadePart, HeldRecords, check_held, forget_caches, holds_on
from react_mem.memory.rights.receipts import check, read_again
from react_mem.memory.scopes.profile import split_fields, with_text
from react_mem.memory.store.attachments import HIDDEN, hidden_notes, unattached
from react_mem.memory.store.audit_log import AuditAction, note_action
from react_mem.memory.store.capabilities import everything, set_aside
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, put_work

HIDDEN_FOR = timedelta(days=1)  # time in which hidden memories can be brought back
Place = tuple[Namespace, str]


@dataclass(frozen=True)
class Hiding:
    """Source of a wish that a model read: the agent, which erases the memories later, and the messages that ask."""

    agent: str
    said_in: Sequence[str]


async def hiding(
    store: BaseStore, user_id: str, how: Hiding, ids: Sequence[str], changes: Sequence[Change], receipt: Receipt
) -> list[Change]:
    """Return the note and the work item that make the writes of a forgetting reversible until a worker completes it."""
    after = {(change.namespace, change.key): change.value for change in changes}
    before = await _values(store, after)

    def believed(value: dict[str, Any] | None) -> dict[str, Any] | None:
        # a fact as it was before the wish ended it
        if value is None or not FACT.matches(value) or set(how.said_in).isdisjoint(value.get("ended_by") or ()):
            return value
        return Fact.from_value(value).model_copy(update=BELIEVED).to_value()

    at = now()
    due = at + HIDDEN_FOR
    key = record_id(HIDDEN, at.isoformat(), *ids)
    value = {
        "kind": HIDDEN,
        "ids": list(ids),
        "records": [
            {"in": list(place[0]), "key": place[1], "before": believed(before[place]), "after": value}
            for place, value in after.items()
        ],
        "receipt": receipt.model_dump(mode="json"),
        "hidden_at": at.isoformat(),
        "erase_at": due.isoformat(),
    }
    work = Work(kind="erase", agent=how.agent, session=key, due_at=int(due.timestamp() * 1000))
    return [PutOp(meta_namespace(user_id), key, value, index=False), put_work(user_id, work)]


async def hidden(store: BaseStore, user_id: str) -> list[HiddenMemory]:
    """Return the hidden memories of a user that are not erased yet, the oldest first."""
    return sorted(map(_shown, await hidden_notes(store, user_id)), key=lambda one: one.hidden_at)


async def erase(store: BaseStore, user_id: str, id_: str) -> Receipt:
    """Erase hidden memories for good, and return the receipt with its checks; errors as of `HiddenCalls.erase`."""

    async def step() -> tuple[tuple[Item, set[str]], list[Change]]:
        note = await _note(store, user_id, id_)
        items = [*await everything(store, user_id), *await set_aside(store, user_id)]
        before = _items(note)
        gone: list[Change] = [PutOp(*_place(one), one["after"]) for one in note.value["records"]]
        HeldRecords(await holds_on(store, user_id), [*items, *before]).check(before, gone)
        erased = PutOp(note.namespace, note.key, None)
        there = {(item.namespace, item.key): item.value for item in items}
        left = [PutOp(item.namespace, item.key, there.get((item.namespace, item.key))) for item in before]
        attached = await unattached(store, user_id, [*items, *before], [*left, erased])
        return (note, {item.key for item in items}), [erased, *attached]

    note, there = await transact(store, user_id, step)
    receipt = Receipt.model_validate(note.value["receipt"])
    note_action(store, user_id, AuditAction.FORGET, receipt.counts)
    # what the user has said again since is no remainder
    gone = receipt.gone - there

    async def notes() -> AsyncIterator[Check]:
        yield check("hidden", [one.key for one in await hidden_notes(store, user_id) if one.key == note.key])

    checks = await read_again(store, user_id, gone, lambda _: False, _texts(note), {"hidden": notes()}, in_turn=False)
    return receipt.model_copy(update={"at": now(), "checks": checks})


async def erase_due(store: BaseStore, user_id: str) -> tuple[list[Receipt], datetime | None]:
    """Erase due hidden memories; return the receipts and the next due time, or None. Held ones stay hidden."""
    at, receipts, later = now(), list[Receipt](), list[datetime]()
    for one in await hidden(store, user_id):
        if one.erase_at > at:
            later.append(one.erase_at)
            continue
        try:
            receipts.append(await erase(store, user_id, one.id))
        except LegalHoldError:
            later.append(at + HIDDEN_FOR)
        except NotThere:
            # another worker, or the user, was first
            continue
    return receipts, min(later, default=None)


class HiddenCalls(FacadePart):
    """The memories of an owner that are hidden and can be brought back."""

    async def hidden(self, user_id: str) -> list[HiddenMemory]:
        """Return the hidden memories, the oldest first: a conversation seems to have asked to forget them.

        They are erased after a day.
        """
        return await hidden(self.store, user_id)

    async def undo(self, user_id: str, id_: str) -> HiddenMemory:
        """Restore a hidden memory; later changes to it stay.

        Raises:
            NotThere: If nothing is hidden under this id any more.
        """
        store = self.store

        async def step() -> tuple[HiddenMemory, list[Change]]:
            note = await _note(store, user_id, id_)
            records = {_place(one): one for one in note.value["records"]}
            changes: list[Change] = [PutOp(note.namespace, note.key, None)]
            for place, current in (await _values(store, records)).items():
                value = _merged(records[place]["before"], records[place]["after"], current)
                if value != current:
                    looked_up = value is None or place[0][2] in (META, ABANDONED)
                    changes.append(PutOp(*place, value, index=False if looked_up else kind_of(value).index(value)))
            return _shown(note), changes

        undone = await transact(store, user_id, step)
        forget_caches(store, user_id)
        note_action(store, user_id, AuditAction.WRITE, {FACT.name: len(undone.texts)})
        return undone

    async def undo_last(self, user_id: str) -> UndoneWrite:
        """Undo the last write: facts drawn from the user's last words go, and facts that they ended hold again.

        Episodes and knowledge drawn from it go too. The conversation stays as it was said, with its summaries, and a
        fact that was said before with its other sources. A turn that waits is not read.

        Raises:
            NotThere: If memory has nothing from the user's words.
            LegalHoldError: If it is under a legal hold.
        """
        store = self.store

        async def step() -> tuple[UndoneWrite, list[Change]]:
            items, aside = await everything(store, user_id), await set_aside(store, user_id)
            undone, facts, changes = await asyncio.to_thread(_taken_back, user_id, items, aside)
            await check_held(store, user_id, items, changes)
            # of two writes of one item the last is the one that counts
            all_of_it = [*await fact_changes(store, user_id, facts), *changes]
            return undone, [*{(change.namespace, change.key): change for change in all_of_it}.values()]

        undone = await transact(store, user_id, step)
        forget_caches(store, user_id)
        note_action(store, user_id, AuditAction.WRITE, {FACT.name: len(undone.texts)})
        return undone

    async def erase(self, user_id: str, id_: str) -> Receipt:
        """Erase a hidden memory for good, before its day is over.

        Returns:
            The removed records, and the remains found afterwards.

        Raises:
            NotThere: If nothing is hidden under this id any more.
            LegalHoldError: If part of it is under a legal hold: it stays hidden.
        """
        return await erase(self.store, user_id, id_)


def _taken_back(
    user_id: str, items: Sequence[Item], aside: Sequence[Item]
) -> tuple[UndoneWrite, list[Fact], list[Change]]:
    """Return the memories drawn from the user's last words, the facts that change without them, and further writes."""
    said = {item.key: item.value for item in (*items, *aside) if MESSAGE.matches(item.value)}
    said_at = {id_: datetime.fromisoformat(str(value["created_at"])) for id_, value in said.items()}
    facts = {item.key: Fact.from_value(item.value) for item in items if FACT.matches(item.value)}
    last = _last_read(items, facts.values(), said_at)
    theirs = {id_ for id_, fact in facts.items() if last in map(forks.part_of, fact.source_ids)}
    undone, changed, changes = UndoneWrite(), list[Fact](), list[Change]()
    fallen = {item.key: item for item in items if item.key == last}
    for after in forks.believed(facts, {item.key for item in aside} | {last}, said_at, now()):
        before = facts[after.id]
        if not (after.id in theirs or last in before.ended_by or before.superseded_by in theirs):
            continue
        # it comes back by nothing but being said again
        suspended = (one for one in after.suspended if one.superseded_by not in theirs and last not in one.ended_by)
        without = tuple(one for one in after.withdrawn if forks.part_of(one) != last)
        changed.append(after.model_copy(update={"withdrawn": without, "suspended": tuple(suspended)}))
        if after.id in theirs and not (after.source_ids or without):
            changes.append(PutOp(FACT.namespace(user_id), after.id, None))
        if before.current and not after.current:
            undone.texts.append(before.text)
            fallen |= {item.key: item for item in items if item.key == after.id}
        elif after.current and not before.current:
            undone.restored.append(after.text)
    made = {item.key: item for item in items if kind_of(item.value).listed and kind_of(item.value).set_aside}
    # a summary retells the conversation, which stays
    drawn = {id_: item for id_, item in made.items() if not SUMMARY.matches(item.value)}
    fall(drawn, fallen, stands=lambda one, _: forks.part_of(one) not in fallen, unsourced=lambda _: False)
    for item in items:
        value = item.value
        place, texts = (item.namespace, item.key), list[str]()
        if item.key in made and item.key in fallen:
            changes.append(PutOp(*place, None))
            texts = [str(title_of(value))]
        elif PENDING.matches(value) and last in value["source_ids"]:
            left = [one for one in value["source_ids"] if one != last]
            is_read = any(said[one].get("role") == "user" for one in left if one in said)
            # who reads it now starts again
            rest = {**value, "source_ids": left, "claimed_by": "", "claimed_until": None}
            changes.append(PutOp(*place, rest if is_read else None, index=False))
            texts = [] if undone.texts else [str(value["text"])]
        elif item.key == last and value.get("standing"):
            rest = {name: part for name, part in value.items() if name != "standing"}
            changes.append(PutOp(*place, rest, index=kind_of(rest).index(rest)))
            texts = [str(value["text"])]
        elif PROFILE.matches(value):
            profile = Profile.from_value(value)
            kept, gone = split_fields(profile.fields, lambda _field, _value, source: forks.part_of(source) == last)
            after_it = with_text(profile.model_copy(update={"fields": kept})).to_value() if kept else None
            changes += [PutOp(*place, after_it)] if gone else []
            texts = [f"{name}: {field.value}" for name, field in gone.items()]
        undone.texts.extend(texts)
    return undone, changed, changes


def _last_read(items: Sequence[Item], facts: Iterable[Fact], said_at: Mapping[str, datetime]) -> str:
    """Return the last message or correction from which something was drawn, or is to be."""
    drawn: dict[str, datetime] = {}
    for fact in facts:
        for source in (*fact.source_ids, *fact.ended_by):
            part, latest = forks.part_of(source), source in fact.source_ids[-1:]
            drawn[part] = said_at.get(part, fact.said_at if latest else fact.created_at)
    for item in items:
        value = item.value
        waits = value["source_ids"] if PENDING.matches(value) else [item.key] if value.get("standing") else ()
        drawn |= {id_: said_at[id_] for id_ in waits if id_ in said_at}
        for field in Profile.from_value(value).fields.values() if PROFILE.matches(value) else ():
            drawn |= {id_: said_at.get(id_, field.updated_at) for id_ in map(forks.part_of, field.source_ids)}
    if not drawn:
        raise NotThere("memory has nothing that the user said: there is nothing to undo")
    return max(drawn, key=drawn.__getitem__)


async def hidden_without(
    store: BaseStore, user_id: str, without: Callable[[list[Item]], Mapping[Place, Mapping[str, Any] | None]]
) -> list[Change]:
    """Return the writes that remove permanently forgotten records from all notes.

    `without` returns the new values of hidden records by place, None for removal; others stay as they are.
    """
    changes: list[Change] = []
    for note in await hidden_notes(store, user_id):
        after = without(_items(note))
        if not after:
            continue
        records = [{**one, "before": after.get(_place(one), one["before"])} for one in note.value["records"]]
        # a chain retells messages, and is made again of what is left of them
        kept = [
            one
            for one in records
            if (one["before"] or _place(one) not in after) and not CHAIN.matches(one["before"] or {})
        ]
        value = {**note.value, "records": kept} if any(one["before"] for one in kept) else None
        changes.append(PutOp(note.namespace, note.key, value, index=False))
    return changes


async def _note(store: BaseStore, user_id: str, id_: str) -> Item:
    item = await store.aget(meta_namespace(user_id), id_, refresh_ttl=False)
    if item is None or item.value.get("kind") != HIDDEN:
        raise NotThere("nothing of this user is hidden under this id: it was brought back, or erased")
    return item


def _shown(note: Item) -> HiddenMemory:
    return HiddenMemory(
        id=note.key, texts=_texts(note), hidden_at=note.value["hidden_at"], erase_at=note.value["erase_at"]
    )


def _texts(note: Item) -> list[str]:
    before = [one["before"] for one in note.value["records"] if one["key"] in note.value["ids"]]
    return [str(value.get("text", "")) for value in before if value]


def _items(note: Item) -> list[Item]:
    """Return the former records of a note, without bookkeeping."""
    about: dict[str, Any] = {"created_at": note.created_at, "updated_at": note.updated_at}
    records = [one for one in note.value["records"] if one["before"] and one["in"][2] != META]
    return [Item(value=one["before"], key=one["key"], namespace=_place(one)[0], **about) for one in records]


async def _values(store: BaseStore, places: Iterable[Place]) -> dict[Place, dict[str, Any] | None]:
    """Return the present values of places; None for empty ones."""
    asked = [GetOp(*place, refresh_ttl=False) for place in places]
    found = await store.abatch(asked) if asked else []
    return {
        (op.namespace, op.key): item.value if isinstance(item, Item) else None
        for op, item in zip(asked, found, strict=True)
    }


def _place(record: Mapping[str, Any]) -> Place:
    return tuple(record["in"]), record["key"]


def _merged(before: Any, after: Any, current: Any) -> Any:
    """Return a value with one change reverted and later changes kept (a three-way merge)."""
    if current == after:
        return before
    if isinstance(after, Mapping) and isinstance(current, Mapping):
        was = before if isinstance(before, Mapping) else {}
        merged = {
            name: _merged(was.get(name), after.get(name), current.get(name)) for name in dict.fromkeys([*current, *was])
        }
        return {name: part for name, part in merged.items() if part is not None or current.get(name, "") is None}
    if isinstance(after, list) and isinstance(current, list):
        known = before if isinstance(before, list) else []
        kept = [one for one in current if one in known or one not in after]
        return [*kept, *(one for one in known if one not in after and one not in kept)]
    return current
