"""Branches of a conversation: how a turn notices a fork, and how memory follows its thread.

Messages of a left branch are set aside with all records made of them, out of reach of reads, and return with their
branch. Facts stay in place, as history.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.graph.links import fall
from react_mem.memory.merging import forks as branch
from react_mem.memory.merging.facts import fact_changes
from react_mem.memory.merging.transcript import is_said, message_record_id, record_named
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.interface import MemoryResults, MemoryScope
from react_mem.memory.model.kinds import CHAIN, FACT, MESSAGE, PENDING, PROFILE, SUMMARY, kind_of
from react_mem.memory.model.namespaces import (
    ABANDONED,
    Namespace,
    abandoned_namespace,
    meta_namespace,
    owner_namespace,
    scope_namespace,
)
from react_mem.memory.model.operations import Change, delete, put
from react_mem.memory.model.profile_schema import PROFILE_KEY, Profile
from react_mem.memory.model.records import Fact, Message, Summary, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.scopes.profile import merged_field, split_fields, values_of, with_text
from react_mem.memory.store.capabilities import WHOLE, everything, set_aside
from react_mem.memory.store.transactions import transact
from react_mem.memory.summaries.sources import MASTER

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BranchesOf:
    """Branches of one conversation."""

    store: BaseStore
    user_id: str
    session_id: str

    async def follow_thread(
        self,
        thread: Sequence[BaseMessage],
        since: str | None,
        found: MemoryResults,
        config: RunnableConfig,
        *,
        blocking: bool = False,
    ) -> bool:
        """Follow a thread if it has forked; return true if beliefs may have changed. Mostly without any request.

        Args:
            since: The id of the last message in memory at this point of the thread.
            found: The results of a read, with the record of memory's last message.
            config: The run's config, which tells a thread forked at its beginning from a new one.
        """
        tip, last = found.tip, self._record(since)
        there = since is None or any(message.id == since for message in reversed(thread))
        asking = {"session_id": self.session_id, "role": "user"}
        beside = [i for i in found if i.scope is MemoryScope.DIALOG and asking.items() <= i.payload.items()]
        if there and tip in ("", last) and not beside:
            return False
        shown = self._said(thread)
        if not there and await self._leave_unanswered(last, shown):
            return True
        if tip in shown or tip in ("", last):
            # said at the place of what is said now, or before a thread that has begun again, and not in it
            gone = [item for item in beside if item.id not in shown]
            lost = next((item.id for item in gone if item.payload.get("after") == last or not (tip or last)), "")
            return bool(lost) and branch.has_thread(config) and await self._leave_unanswered(lost, shown)
        if since is not None:
            return await self.follow(last, shown)
        if not await branch.was_on_thread(config, self.session_id, tip, blocking=blocking):
            return branch.has_thread(config) and await self._leave_unanswered(tip, shown)
        return await self._begin_anew(shown)

    def _record(self, since: str | None) -> str:
        return record_named(self.session_id, since) if since else ""

    def _said(self, thread: Sequence[BaseMessage]) -> list[str]:
        return [message_record_id(self.session_id, message) for message in thread if is_said(message)]

    def linked(
        self, records: Sequence[Message], new: Sequence[Message], since: str | None, *, found: bool
    ) -> list[Message]:
        """Return a turn's new messages with predecessors; in a trimmed thread, not `found`, they follow on `since`."""
        before = self._record(since) or branch.start_of(self.session_id, records[0].id)
        unknown = {record.id for record in new}
        noted = []
        for record in records:
            if record.id in unknown:
                noted.append(record.model_copy(update={"after": before}))
            if record.id in unknown or found:
                before = record.id
        return noted

    async def reached(self, earlier: Sequence[BaseMessage], tip: str, since: str | None) -> tuple[bool, list[Change]]:
        """Return true if a turn has forked its conversation, perhaps left a branch, and the writes of its position.

        A regenerated answer shows its fork here, when it is stored: its question was not read again.
        """
        last = self._record(since)
        asked = [
            GetOp(meta_namespace(self.user_id), branch.branch_key(self.session_id)),
            GetOp(scope_namespace(self.user_id, MemoryScope.DIALOG), last),
        ]
        found = [item if isinstance(item, Item) else None for item in await self.store.abatch(asked)]
        known, question = branch.tip_of(found[0]), found[1].value.get("after", "") if found[1] else ""
        marks = [branch.put_tip(self.user_id, self.session_id, tip)]
        # a copy of a thread, or one from before memory noted what follows on what; a long one is gone through once only
        if before := self._said([] if known else earlier):
            trunk = [branch.start_of(self.session_id, before[0]), *before]
            marks.append(branch.put_trunk(self.user_id, self.session_id, trunk))
        return bool(known) and known not in (last, question), marks

    async def follow(self, tip: str | None = None, shown: Collection[str] = ()) -> bool:
        """Follow a branch of the conversation and leave the others; return true if anything changed.

        It is the one with a message, perhaps on a left branch, or with the last finished turn. `shown` are the records
        of the messages in the thread.
        """

        async def step() -> tuple[bool, list[Change]]:
            tree = await self._tree()
            # what follows on a finished turn and was not left before is being said now
            goes_on = tip if tip is not None else tree.reached()
            on = shown if tip is not None else branch.following(goes_on, tree.after) - tree.away.keys()
            before = tree.said_at(goes_on)
            asked = {one for one in tree.questions if one in tree.away or tree.said_at(one) < before}
            after = branch.with_lost_starts(tree.after, asked, goes_on)
            gone = branch.left_behind(after, goes_on, on) & tree.messages.keys() if goes_on else tree.away.keys()
            moved = [branch.put_tip(self.user_id, self.session_id, goes_on)] if goes_on != tree.tip else []
            if gone == tree.away.keys():
                return False, moved
            log.info("a conversation has forked: %d of its messages are left behind", len(gone))
            return True, [*await _changes(self.store, self.user_id, self.session_id, gone, tree.aside), *moved]

        return await transact(self.store, self.user_id, step)

    async def _begin_anew(self, shown: Sequence[str]) -> bool:
        """Follow a thread that was forked before its first message; return true if anything changed."""

        async def step() -> tuple[str, list[Change]]:
            tree = await self._tree()
            root = branch.root_of(tree.tip, tree.after)
            first = [id_ for id_ in shown if id_ in tree.messages and tree.after[id_] not in tree.messages]
            # both branches begin at the same place
            return root, tree.put_after(first, root)

        return await self.follow(await transact(self.store, self.user_id, step), shown)

    async def _leave_unanswered(self, question: str, shown: Sequence[str]) -> bool:
        """Leave an unfinished turn that is gone from its thread, like an edited one; return true if anything changed.

        It is left if the thread still holds its predecessor, or if it was the first turn: a thread that lost more was
        trimmed, which retracts nothing. A message that is not the user's, or was answered, stays.
        """
        dialog = scope_namespace(self.user_id, MemoryScope.DIALOG)
        said = await self.store.aget(dialog, question, refresh_ttl=False)
        if said is None or said.value.get("role") != "user":
            return False

        async def step() -> tuple[str | None, list[Change]]:
            tree = await self._tree()
            place = tree.after.get(question, "")
            instead = [id_ for id_ in shown if tree.after.get(id_) == question]
            if place not in tree.messages:
                # it was the first: another one begins at its place
                known = (*tree.messages, place)
                instead += [id_ for id_ in shown if id_ in tree.messages and tree.after[id_] not in known]
            elif place not in shown:
                return None, []
            answered = any(before == question for id_, before in tree.after.items() if id_ not in shown)
            if answered or not place:
                return None, []
            return place, tree.put_after(instead, place)

        place = await transact(self.store, self.user_id, step)
        return place is not None and await self.follow(place, shown)

    async def _tree(self) -> _Tree:
        # much less than everything, and it says whether there is anything to do: most often there is not
        said = await self.store.asearch(
            scope_namespace(self.user_id, MemoryScope.DIALOG),
            filter={"session_id": self.session_id, "kind": MESSAGE.name},
            limit=WHOLE,
            refresh_ttl=False,
        )
        aside = await set_aside(self.store, self.user_id)
        tip, trunk = await branch.read_marks(self.store, self.user_id, self.session_id)
        away = {item.key: item for item in aside if MESSAGE.matches(item.value) and _is_of(item, self.session_id)}
        messages: dict[str, Item] = {**away, **{item.key: item for item in said}}
        after = {id_: str(item.value.get("after", "")) for id_, item in messages.items()}
        return _Tree(messages, away, branch.with_trunk(after, trunk), tip, aside)


@dataclass(frozen=True)
class _Tree:
    """Messages of a conversation, those set aside (`away`), the predecessor of each, and the last turn's tip."""

    messages: dict[str, Item]
    away: dict[str, Item]
    after: dict[str, str]
    tip: str
    aside: list[Item]

    @property
    def questions(self) -> set[str]:
        return {id_ for id_, item in self.messages.items() if item.value.get("role") == "user"}

    def said_at(self, id_: str) -> str:
        """Return the time of a message as text; empty, and so first, for an unknown one."""
        return str(self.messages[id_].value["created_at"]) if id_ in self.messages else ""

    def reached(self) -> str:
        """Return the last message of the conversation: the tip, or the last unanswered question after it."""
        reached, waiting = self.tip, self.questions - self.away.keys()
        while asked := [id_ for id_ in waiting if self.after[id_] == reached or self._begins(id_, reached)]:
            reached = max(asked, key=self.said_at)
            waiting -= {*asked}
        return reached

    def _begins(self, id_: str, reached: str) -> bool:
        return not reached and bool(self.after[id_]) and self.after[id_] not in self.messages

    def put_after(self, ids: Iterable[str], place: str) -> list[Change]:
        """Return the writes of a new predecessor of some messages."""
        items = [self.messages[id_] for id_ in ids if self.messages[id_].value.get("after") != place]
        return [PutOp(item.namespace, item.key, {**item.value, "after": place}, index=False) for item in items]


async def _changes(
    store: BaseStore, user_id: str, session_id: str, off: Collection[str], aside: Sequence[Item]
) -> list[Change]:
    """Return the writes that make some messages of a conversation count no more, and all others of it count."""
    items = await everything(store, user_id)
    # everything of an owner may be much, and others are served by this event loop too
    gone, changed = await asyncio.to_thread(_reassessed, session_id, off, items, aside)
    changes = await fact_changes(store, user_id, changed)
    changes += await asyncio.to_thread(_moves, user_id, session_id, items, aside, gone)
    # of two writes of one item the last is the one that counts
    return list({(change.namespace, change.key): change for change in changes}.values())


def _reassessed(
    session_id: str, off: Collection[str], items: Sequence[Item], aside: Sequence[Item]
) -> tuple[dict[str, Item], list[Fact]]:
    """Return all messages of the owner that do not count, and the facts that change by that."""
    # what other conversations have left stays away
    gone = {item.key: item for item in aside if MESSAGE.matches(item.value) and not _is_of(item, session_id)}
    messages = {item.key: item for item in (*items, *aside) if MESSAGE.matches(item.value)}
    gone |= {id_: messages[id_] for id_ in off if id_ in messages}
    facts = {item.key: Fact.from_value(item.value) for item in items if FACT.matches(item.value)}
    said_at = {id_: datetime.fromisoformat(str(item.value["created_at"])) for id_, item in messages.items()}
    return gone, branch.believed(facts, gone, said_at, now())


def _moves(
    user_id: str, session_id: str, items: Sequence[Item], aside: Sequence[Item], gone: Mapping[str, Item]
) -> list[Change]:
    """Return the writes that set aside records of dead messages and bring back the others."""
    held = [*items, *aside]
    messages = (item for item in held if MESSAGE.matches(item.value))
    changes = [change for item in messages for change in _moved(user_id, item, away=item.key in gone)]
    made = {item.key: item for item in held if kind_of(item.value).set_aside}
    left = dict(made)
    fallen = dict(gone)
    fall(
        left,
        fallen,
        stands=lambda source, _: branch.part_of(source) not in fallen,
        unsourced=lambda _: False,
        supported=lambda kind: kind.supported or kind.worked_on,
    )
    places: dict[str, list[Item]] = {}
    for item in held:
        places.setdefault(item.key, []).append(item)
    for id_ in made:
        for item in places[id_]:
            changes += _moved(user_id, item, away=id_ in fallen, instead=len(places[id_]) > 1)
    changes += _turns(user_id, held, gone)
    changes += _chain(user_id, session_id, held, fallen)
    return [*changes, *_profile(user_id, session_id, items, aside, gone)]


def _is_of(item: Item, session_id: str) -> bool:
    return item.value.get("session_id") == session_id


def _moved(user_id: str, item: Item, *, away: bool, instead: bool = False) -> list[Change]:
    """Return the writes that set a record aside or bring it back; `instead`, another has its id, and stays."""
    aside = item.namespace[2] == ABANDONED
    if aside == away:
        return []
    removed = PutOp(item.namespace, item.key, None)
    if not away:
        # found by meaning again, as it was before
        place: Namespace = (*owner_namespace(user_id), item.namespace[3])
        index = kind_of(item.value).index(item.value)
        return [removed] if instead else [removed, PutOp(place, item.key, item.value, index=index)]
    if item.value.get("level") == MASTER or kind_of(item.value).made_anew:
        # made again of what is left, under the same id
        return [removed]
    return [removed, PutOp(abandoned_namespace(user_id, item.namespace[2]), item.key, item.value, index=False)]


def _turns(user_id: str, held: Iterable[Item], gone: Mapping[str, Item]) -> list[Change]:
    """Return the writes that stop the extraction of turns on left branches, and resume turns that return."""
    changes: list[Change] = []
    waiting = [item for item in held if PENDING.matches(item.value)]
    in_place = {item.key for item in waiting if item.namespace[2] == PENDING.place}
    for item in waiting:
        turn = PendingTurn.from_value(item.value)
        left = tuple(source for source in turn.source_ids if source not in gone)
        if not left or item.namespace[2] == ABANDONED:
            changes += _moved(user_id, item, away=not left, instead=item.key in in_place)
        elif len(left) < len(turn.source_ids):
            shorter = turn.model_copy(update={"source_ids": left, "claimed_by": "", "claimed_until": None})
            changes.append(PutOp(item.namespace, item.key, shorter.to_value(), index=False))
    return changes


def _chain(user_id: str, session_id: str, held: Iterable[Item], fallen: Mapping[str, Item]) -> list[Change]:
    left = [item for item in held if _is_of(item, session_id) and item.key not in fallen]
    before = next((ContextChain.from_value(i.value) for i in left if CHAIN.matches(i.value)), None)
    if before is None:
        return []
    summaries = [Summary.from_value(i.value) for i in left if SUMMARY.matches(i.value) and i.value["chain"]]
    messages = [Message.from_value(i.value) for i in left if MESSAGE.matches(i.value)]
    after = branch.regrown(before, summaries, messages)
    if after == before:
        return []
    return [put(user_id, after) if after.entries else delete(user_id, CHAIN, before.id)]


def _profile(
    user_id: str, session_id: str, items: Iterable[Item], away: Iterable[Item], gone: Mapping[str, Item]
) -> list[Change]:
    """Return the writes that remove dead messages' values from a profile, and restore the others."""
    before = next((Profile.from_value(item.value) for item in items if PROFILE.matches(item.value)), None)
    key = PROFILE.id(session_id)
    aside = next((Profile.from_value(item.value) for item in away if item.key == key), None)
    known = before or aside
    if known is None:
        return []
    fields = dict(before.fields) if before else {}
    for name, entry in aside.fields.items() if aside else ():
        held = values_of(fields[name]) if name in fields else []
        fields[name] = merged_field([*held, *values_of(entry)])
    kept, dropped = split_fields(fields, lambda _field, _value, source: source in gone)
    changes: list[Change] = []
    after = with_text(known.model_copy(update={"id": PROFILE_KEY, "fields": kept})) if kept else None
    if after != before:
        value = after.to_value() if after else None
        changes.append(PutOp(scope_namespace(user_id, MemoryScope.PROFILE), PROFILE_KEY, value))
    out = known.model_copy(update={"id": key, "fields": dropped, "session_id": session_id}) if dropped else None
    if out != aside:
        place = abandoned_namespace(user_id, MemoryScope.PROFILE)
        changes.append(PutOp(place, key, out.to_value() if out else None, index=False))
    return changes
