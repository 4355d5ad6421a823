"""Statements that a user tells memory directly, outside of any turn, by the rules of a turn.

Each text becomes a message of a conversation of its own, which an agent with a model reads afterwards, and each
statement in it a verbatim fact; standing instructions become none. A believed fact gets one more source, so that it
outlives the conversation that said it first; further repetitions add none, until it is forgotten or over.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.store.base import GetOp, Item
from pydantic import BaseModel, Field

from react_mem.errors import OtherWordsError, UnfitMessageError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.entries import whole_text
from react_mem.memory.index.recall import is_over
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.standing import standing_in
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.reconcile import reconcile, stated, to_fact, ways
from react_mem.memory.merging.transcript import SAID_AT, RecordName, message_record_id, to_records, withheld
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE
from react_mem.memory.model.operations import Change, Operation, discreet_text, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message, SecretPolicy, fact_id, now
from react_mem.memory.model.views import MemoryItem
from react_mem.memory.rights.feedback import STATES_NOTHING, check_told, told_statements
from react_mem.memory.rights.holds import is_paused
from react_mem.memory.rights.unsaid import read_forgotten
from react_mem.memory.store.priority import FRONT
from react_mem.memory.store.process_state import lock_of
from react_mem.memory.store.room import make_room
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, announce, put_work
from react_mem.memory.write.committing import REMEMBERED, kept_at_once
from react_mem.memory.write.session import Session
from react_mem.memory.write.turns import Turns

_SOURCES = 100  # latest sources of a fact that are searched for a message of this conversation


@dataclass(frozen=True)
class RememberedWords:
    """Records of a remembered text, a fact a statement and the message of an instruction, and the ids of new ones."""

    memories: tuple[MemoryItem, ...]
    new: frozenset[str]


async def remember(
    memory: MemoryFacade, user_id: str, text: str, *, about: str = "", agent_id: str = "", alone: bool = False
) -> RememberedWords:
    """Remember a user's text verbatim; a fact believed in the same words gets one more source.

    Args:
        about: The subject by name; empty for the user. Statements about others stand as they are, since no model can
            resolve "she".
        agent_id: The agent that is to read it and lists it among its memories; empty for none.
        alone: Whether a text that is only small talk is kept too, as an application's wish.

    Raises:
        ValueError: If the text is too long or states nothing, such as a question, or if the user has paused memory; the
            message says what to do.
        MemoryFull: If the quotas leave no room for it.
        WriteConflict: If other writers of the owner were faster every time.
    """
    if await is_paused(memory.store, user_id):
        raise ValueError("text: the user has paused memory, so nothing is remembered; end the pause first")
    said, name = await discreet_text(storable(text).strip(), memory.policy.secrets), " ".join(storable(about).split())
    whom = "user" if name.casefold() in ("", "user") else name
    check_told(said)
    order = standing_in(said)
    wish = order.said if order is not None and order.kind == "instruction" else ""
    statements = told_statements(said, alone=alone)
    if not (statements or wish):
        raise ValueError(STATES_NOTHING)
    await make_room(memory.store, user_id, memory.policy.quotas, [said, *statements])
    ids = [fact_id(whom, statement) for statement in statements]
    # each time it is said it is another message: a fact that has ended is believed again when it is said again
    own = HumanMessage(said, id=str(uuid.uuid4()))
    [message] = to_records([own], first=0, session_id=REMEMBERED, agent_id=agent_id, policy="keep")
    works = [Work(kind="extract", agent=agent_id, session=REMEMBERED, due_at=int(now().timestamp() * 1000))]
    works = works if agent_id and whom == "user" else []

    def told(facts: Iterable[Fact], message: Message | None, new: Iterable[str] = ()) -> RememberedWords:
        at = now()
        items = [MemoryItem.of(MemoryScope.SEMANTIC, fact.id, fact.to_value(), at) for fact in facts]
        if message is not None:
            items.append(MemoryItem.of(MemoryScope.DIALOG, message.id, message.to_value(), at))
        return RememberedWords(tuple(items), frozenset(new))

    async def step() -> tuple[tuple[RememberedWords, bool], list[Change]]:
        stored = await load_facts(memory.store, user_id, (), ids)
        known = {one: _believed(stored, id_, one) for id_, one in zip(ids, statements, strict=True)}
        there = {fact.id: fact for fact in known.values() if fact is not None}
        # what has come into doubt since is settled as what is new is
        open_ = [one for one, fact in known.items() if fact is None or _is_doubted(fact, stored)]
        again = {one: fact for one, fact in known.items() if fact is not None and one not in open_}
        # what others vouch for becomes the user's, whoever has told it here before
        theirs = [fact for fact in again.values() if fact.origin is Origin.USER]
        here = await _told_here(memory, user_id, theirs)
        standing, since = await _told_to_do(memory, user_id, wish) if wish else (None, [])
        if not open_ and here.issuperset(fact.id for fact in again.values()) and not (wish and standing is None):
            return (told(there.values(), standing), False), since
        said_here = {"session_id": REMEMBERED, "kind": MESSAGE.name}
        last = await memory.store.asearch(MESSAGE.namespace(user_id), filter=said_here, limit=1, refresh_ttl=False)
        # two texts at the same time may share a place
        place = max((int(item.value.get("turn", 0)) for item in last), default=-1) + 1
        kept = message.model_copy(update={"turn": place})
        borne: dict[str, Fact] = {}
        for one, fact in again.items():
            there_now, at = {**stored, **borne}, kept.created_at
            operation = Operation("new", one, about=fact.about, source_ids=(kept.id,))
            said_now = to_fact(operation, said_at=at, at=at, session_id=REMEMBERED, agent_id=agent_id)
            # who has read it before has read it now
            said_now = said_now.model_copy(update={"verbatim": fact.verbatim})
            borne |= stated(there_now, there_now[fact.id], said_now)
        changes = await fact_changes(memory.store, user_id, list(borne.values())) if borne else []
        stored |= borne
        if whom == "user":
            session = Session(memory, None, user_id, REMEMBERED, agent_id)
            changes += (await kept_at_once(session, [], [kept], dict(stored)))[1]
        else:
            operations = [Operation("new", one, about=whom, source_ids=(kept.id,)) for one in open_]
            where = {"session_id": REMEMBERED, "agent_id": agent_id}
            facts = reconcile(operations, stored, at=now(), **where, said={kept.id: kept})
            changes += await fact_changes(memory.store, user_id, facts)
        written = [change.value for change in changes if change.value and FACT.matches(change.value)]
        after = {value["id"]: Fact.from_value(dict(value)) for value in written if value["id"] in {*ids, *there}}
        changes += [put(user_id, kept), *(put_work(user_id, work) for work in works if open_)]
        new = [*(after.keys() - there.keys()), *([kept.id] if wish and standing is None else [])]
        # in other words it takes the place of what it says again
        told_now = [fact for fact in {**there, **after}.values() if fact.current]
        return (told(told_now, standing or (kept if wish else None), new), bool(open_)), changes

    done, to_read = await transact(memory.store, user_id, step)
    if to_read:
        announce(user_id, works)
    return done


def _believed(stored: Mapping[str, Fact], id_: str, statement: str) -> Fact | None:
    """Return the believed fact with a statement, following successors; None without one."""
    fact, seen = stored.get(id_), set[str]()
    while fact is not None and fact.id not in seen:
        if fact.current:
            says_it = fact.id == id_ or normalise(statement) in ways(fact)
            return fact if says_it and not is_over(fact.to_value(), now()) else None
        seen.add(fact.id)
        fact = stored.get(fact.superseded_by or "")
    return None


def _is_doubted(fact: Fact, stored: Mapping[str, Fact]) -> bool:
    others = (stored.get(id_) for id_ in fact.doubts)
    return any(other is None or other.said_at >= fact.said_at for other in others)


async def _told_here(memory: MemoryFacade, user_id: str, facts: Iterable[Fact]) -> set[str]:
    """Return the ids of the facts with a source in this conversation, among the latest sources of each."""
    sources = {fact.id: fact.source_ids[-_SOURCES:] for fact in facts}
    wanted = dict.fromkeys(source for ids in sources.values() for source in ids)
    gets = [GetOp(MESSAGE.namespace(user_id), id_, refresh_ttl=False) for id_ in wanted]
    found = await memory.store.abatch(gets) if gets else []
    here = {item.key for item in found if isinstance(item, Item) and item.value.get("session_id") == REMEMBERED}
    return {id_ for id_, ids in sources.items() if not here.isdisjoint(ids)}


async def _told_to_do(memory: MemoryFacade, user_id: str, wish: str) -> tuple[Message | None, list[Change]]:
    """Return the message of an earlier instruction, and the write that dates it after others: the later one holds."""
    stands = {"kind": MESSAGE.name, "standing": "instruction"}
    found = await memory.store.asearch(MESSAGE.namespace(user_id), filter=stands, limit=_SOURCES, refresh_ttl=False)
    told = sorted((Message.from_value(item.value) for item in found), key=lambda one: one.created_at)
    here = ((one, standing_in(whole_text(vars(one)))) for one in told if one.session_id == REMEMBERED)
    said = [one for one, order in here if order is not None and normalise(order.said) == normalise(wish)]
    if not said or said[-1] is told[-1]:
        return (said[-1] if said else None), []
    again = said[-1].model_copy(update={"created_at": now()})
    return again, [put(user_id, again)]


# Conversations imported from a client: new messages are stored as turns, like any other.

# Names and places of messages that a client tells of a conversation, which need no ids of their own.

ToldRole = Literal["user", "assistant"]


def words_key(text: str) -> str:
    r"""Return a hash of words without white space: line breaks may differ between transmissions.

    >>> words_key("I live in Hue.") == words_key("I live\nin Hue. ")
    True
    """
    return hashlib.sha256("".join(storable(text).split()).encode()).hexdigest()[:16]


def placed_name(place: int, role: ToldRole, key: str) -> str:
    """Return an id for a message without one."""
    return f"{place}-{role}-{key}"


def placed_thread(place: int, latest: Iterable[tuple[int, AnyMessage]], new: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return new messages behind the latest ones, each at its index in the conversation.

    Args:
        place: The index of the first new message.
    """
    # nobody said those that stand for what is not at hand
    nobody = SystemMessage("")
    thread: list[AnyMessage] = [nobody] * place
    for before, message in latest:
        thread[before] = message
    return [*thread, *new]


_SHOWN_BEFORE = 4
"""Messages of context passed on with a turn: a "yes" needs its question."""

_SURE = 2  # messages in a row that count as a repetition in any position; a single one may well be said again


@dataclass(frozen=True)
class ClientMessage:
    """Message sent by a client, with its own id, if any, and its time; None for now."""

    role: ToldRole
    text: str
    id: str = ""
    said_at: datetime | None = None


class StoredMessage(BaseModel):
    """A message of the request, as it is stored."""

    id: str = Field(description="Its record: a message of the conversation, and a memory.")
    outcome: Literal["new", "known", "forgotten"] = Field(
        description="`known` where it was there; `forgotten` where the user wants it out of memory: it stays away."
    )


async def store_told(turns: Turns, told: Sequence[ClientMessage]) -> list[StoredMessage]:
    """Store a conversation's new messages, queue their extraction, and return the outcome of each.

    No model is asked. Each turn is one batch: an interrupted call is completed when the messages are sent again.

    Raises:
        UnfitMessageError: If a message says nothing; nothing is stored.
        OtherWordsError: If the id of a message stands for other words; nothing is stored.
        MemoryFull: If there is no room for all that the user says; nothing is stored.
    """
    memory, user_id, session_id = turns.memory, turns.user_id, turns.session_id
    # a place is given away once
    async with lock_of((*MESSAGE.namespace(user_id), "told"), session_id):
        held, forgotten, paused = await asyncio.gather(
            memory.dialog.every(user_id, session_id=session_id, kind=MESSAGE.name),
            read_forgotten(memory.store, user_id, session_id),
            is_paused(memory.store, user_id),
        )
        # a conversation of months takes a while
        plan = await asyncio.to_thread(_Uptake, turns, told, held, forgotten, paused=paused)
        await make_room(memory.store, user_id, memory.policy.quotas, plan.asking)
        latest = [(one.place, one.message) for one in plan.held[-_SHOWN_BEFORE:]]
        since: str | None = RecordName(plan.held[-1].id) if plan.held else None
        for turn in plan.turns:
            *before, (place, message) = turn
            thread = placed_thread(place, [*latest, *before], [message])
            with FRONT.turn():
                if isinstance(message, AIMessage):
                    await turns.close(thread, since)
                else:
                    await turns.open(thread, since)
            latest, since = [*latest, *turn][-_SHOWN_BEFORE:], str(message.id)
    return [plan.taken[place] for place in range(len(told))]


@dataclass(frozen=True)
class _HeldPlace:
    """Message in memory; of a forgotten one only the index is known."""

    place: int
    value: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.value.get("id", ""))

    @cached_property
    def key(self) -> tuple[str, str]:
        """The role, and the hash of the words."""
        return str(self.value.get("role", "")), words_key(whole_text(self.value))

    @property
    def message(self) -> AnyMessage:
        """The message for the thread of a turn, with its record as its id."""
        said = whole_text(self.value)
        message = HumanMessage(said) if self.key[0] == "user" else AIMessage(said)
        # given to the constructor it would be a text like any other
        message.id = RecordName(self.id)
        return message


@dataclass(frozen=True)
class _ReadMessage:
    """Message sent by a client, with its record, and the indices at which it was forgotten."""

    place: int
    said: ClientMessage
    record: Message
    gone: Collection[int] = field(default_factory=tuple)

    @cached_property
    def key(self) -> tuple[ToldRole, str]:
        """The role, and the hash of the stored words."""
        return self.said.role, words_key(whole_text(vars(self.record)))

    def name(self, place: int) -> str:
        """Return its id at an index of the conversation."""
        return self.said.id or placed_name(place, *self.key)


class _Uptake:
    """Plan for the messages sent by a client, against the messages in memory and the forgotten ones."""

    def __init__(
        self,
        turns: Turns,
        told: Sequence[ClientMessage],
        held: Sequence[dict[str, Any]],
        forgotten: Collection[str],
        *,
        paused: bool,
    ) -> None:
        self._session = turns.session_id
        self.held = sorted(
            (_HeldPlace(int(value["turn"]), value) for value in held),
            key=lambda one: (one.place, one.value["created_at"]),
        )
        self._by_id = {one.id: one for one in self.held}
        self._forgotten = forgotten
        self._gone = {id_ for id_ in forgotten if id_ not in self._by_id}
        self._next = self.held[-1].place + 1 if self.held else 0
        self._policy: SecretPolicy = turns.memory.policy.secrets
        named = [_message(one, str(place)) for place, one in enumerate(told)]
        out = {int(str(message.id)) for message in (named if paused else withheld(named, self._policy))}
        self._new: list[tuple[int, AnyMessage]] = []
        self.taken = {
            place: StoredMessage(id=self._record(one.id or placed_name(place, one.role, "")), outcome="forgotten")
            for place, one in enumerate(told)
            if place in out
        }
        self.told = [
            self._read(place, one, turns.agent_id, len(told)) for place, one in enumerate(told) if place not in out
        ]
        self._take()

    @property
    def asking(self) -> list[Message]:
        """The new messages from the user's first on: an answer before goes with its question, which is stored."""
        new = [one for one in self.told if self.taken[one.place].outcome == "new"]
        first = next((n for n, one in enumerate(new) if one.said.role == "user"), len(new))
        return [one.record for one in new[first:]]

    @property
    def turns(self) -> list[list[tuple[int, AnyMessage]]]:
        """The new messages with their indices, turn by turn."""
        found: list[list[tuple[int, AnyMessage]]] = []
        for placed in self._new:
            if not found or isinstance(placed[1], HumanMessage):
                found.append([])
            found[-1].append(placed)
        return found

    def _read(self, place: int, said: ClientMessage, agent_id: str, many: int) -> _ReadMessage:
        of, session = [_message(said, "")], self._session
        records = to_records(of, first=0, session_id=session, agent_id=agent_id, policy=self._policy)
        if not records:
            raise UnfitMessageError(place, "it says nothing; leave such a message out")
        told = _ReadMessage(place, said, records[0])
        places = () if said.id or not self._gone else range(self._next + many)
        return replace(told, gone={one for one in places if self._record(told.name(one)) in self._gone})

    def _record(self, name: str) -> str:
        return MESSAGE.id(self._session, name)

    def _take(self) -> None:
        named: dict[str, _ReadMessage] = {}
        for one in self.told:
            if one.said.id:
                id_ = self._record(one.said.id)
                first, held = named.setdefault(one.said.id, one), self._by_id.get(id_)
                # the words of a partly forgotten message are unknown
                other = held is not None and held.key != one.key and id_ not in self._forgotten
                if first.key != one.key or other:
                    raise OtherWordsError(one.place)
                if first is not one or id_ in self._by_id:
                    self.taken[one.place] = StoredMessage(id=id_, outcome="known")
                elif id_ in self._gone:
                    self.taken[one.place] = StoredMessage(id=id_, outcome="forgotten")
        gone = {place for place, taken in self.taken.items() if taken.outcome == "forgotten"}
        left = [one for one in self.told if one.place not in gone]
        if not all(one.said.id for one in left):
            self._take_up(left)
        place = self._next
        for one in self.told:
            if one.place in self.taken:
                continue
            message = _message(one.said, one.name(place))
            id_ = message_record_id(self._session, message)
            self.taken[one.place] = StoredMessage(id=id_, outcome="forgotten" if id_ in self._gone else "new")
            if id_ not in self._gone:
                self._new.append((place, message))
            place += 1

    def _take_up(self, left: Sequence[_ReadMessage]) -> None:
        """Match messages with stored and forgotten ones."""
        there = {one.place for one in self.held}
        holes = {place for one in left for place in one.gone if place not in there}
        slots = sorted([*self.held, *map(_HeldPlace, holes)], key=lambda one: one.place)
        # before the last thing that the user says here, what was forgotten is history and not said again
        last = max((one.place for one in left if one.said.role == "user"), default=0)
        while left:
            where, length = self._repeated(left, slots)
            for one, slot in zip(left[:length], slots[where:], strict=False):
                id_ = slot.id or self._record(one.name(slot.place))
                self.taken[one.place] = StoredMessage(id=id_, outcome="known" if slot.id else "forgotten")
                self._next = max(self._next, slot.place + 1)
            left, slots = left[length:], slots[where + length :]
            history = list(takewhile(lambda one: one.gone and one.place < last, left))
            for one in history:
                self.taken[one.place] = StoredMessage(id=self._record(one.name(min(one.gone))), outcome="forgotten")
            left = left[len(history) :]
            if not history:
                return

    def _repeated(self, told: Sequence[_ReadMessage], slots: Sequence[_HeldPlace]) -> tuple[int, int]:
        """Return the index of the best match of the first messages, and its length."""
        best, where = 0, 0
        end = max((place for place, slot in enumerate(slots, start=1) if slot.id), default=len(slots))
        for start in range(len(slots)):
            length = 0
            while length < min(len(told), len(slots) - start) and self._is(told[length], slots[start + length]):
                length += 1
            is_sure = length >= _SURE or start + length >= end or any(one.said.id for one in told[:length])
            if length and is_sure and length >= best:
                best, where = length, start
        return where, best

    def _is(self, one: _ReadMessage, slot: _HeldPlace) -> bool:
        """Return true if a message matches the one in memory at an index."""
        if not slot.id:
            return slot.place in one.gone
        if one.said.id:
            return slot.id == self._record(one.said.id)
        if slot.key == one.key:
            return True
        # of what it said, something is forgotten
        return slot.id in self._forgotten and slot.id == self._record(one.name(slot.place))


def _message(said: ClientMessage, name: str) -> AnyMessage:
    kind = HumanMessage if said.role == "user" else AIMessage
    at = {SAID_AT: said.said_at.isoformat()} if said.said_at is not None else {}
    return kind(storable(said.text), id=name, additional_kwargs=at)
