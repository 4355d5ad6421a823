"""Conversations imported from a client: new messages are stored as turns, like any other.

A client may send each message once, the same ones again, or the whole conversation every time. A message with an id is
stored once by its id; one without is matched by position and words.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from react_mem.errors import OtherWordsError, UnfitMessageError
from react_mem.memory.index.entries import whole_text
from react_mem.memory.merging.transcript import SAID_AT, RecordName, message_record_id, to_records
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.records import Message
from react_mem.memory.rights.unsaid import read_forgotten
from react_mem.memory.store.priority import FRONT
from react_mem.memory.store.process_state import lock_of
from react_mem.memory.store.room import make_room
from react_mem.memory.store.stored_text import storable
from react_mem.memory.write.turns import Turns

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
    """Message sent by a client.

    Args:
        id: The client's id of it; empty without one.
        said_at: Its time; None for now.
    """

    role: ToldRole
    text: str
    id: str = ""
    said_at: datetime | None = None


class StoredMessage(BaseModel):
    """A message of the request, as it is stored."""

    id: str = Field(description="Its record: a message of the conversation, and a memory.")
    outcome: Literal["new", "known", "forgotten"] = Field(
        description="`known` where it was there already; `forgotten` where the user had it forgotten: it stays away."
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
        held, forgotten = await asyncio.gather(
            memory.dialog.every(user_id, session_id=session_id, kind=MESSAGE.name),
            read_forgotten(memory.store, user_id, session_id),
        )
        # a conversation of months takes a while
        plan = await asyncio.to_thread(_Uptake, turns, told, held, forgotten)
        await make_room(memory.store, user_id, memory.policy.quotas, plan.asking)
        latest, since = plan.latest, plan.since
        for turn in plan.turns():
            *before, (place, message) = turn
            thread = placed_thread(place, [*latest, *before], [message])
            with FRONT.turn():
                if isinstance(message, AIMessage):
                    await turns.close(thread, since)
                else:
                    await turns.open(thread, since)
            latest, since = [*latest, *turn][-_SHOWN_BEFORE:], str(message.id)
    return plan.taken


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
    ) -> None:
        self._session = turns.session_id
        self._held = sorted(
            (_HeldPlace(int(value["turn"]), value) for value in held),
            key=lambda one: (one.place, one.value["created_at"]),
        )
        self._by_id = {one.id: one for one in self._held}
        self._forgotten = forgotten
        self._gone = {id_ for id_ in forgotten if id_ not in self._by_id}
        self._next = self._held[-1].place + 1 if self._held else 0
        self._told = [self._read(place, one, turns.agent_id, len(told)) for place, one in enumerate(told)]
        self._new: list[tuple[int, AnyMessage]] = []
        self._taken: dict[int, StoredMessage] = {}
        self._take()

    @property
    def taken(self) -> list[StoredMessage]:
        return [self._taken[one.place] for one in self._told]

    @property
    def asking(self) -> list[Message]:
        """The new messages from the user's first on: an answer before goes with its question, which is stored."""
        new = [one for one in self._told if self._taken[one.place].outcome == "new"]
        first = next((n for n, one in enumerate(new) if one.said.role == "user"), len(new))
        return [one.record for one in new[first:]]

    @property
    def latest(self) -> list[tuple[int, AnyMessage]]:
        """The last messages in memory, with their indices."""
        return [(one.place, one.message) for one in self._held[-_SHOWN_BEFORE:]]

    @property
    def since(self) -> str | None:
        """The id of the last message in memory."""
        return RecordName(self._held[-1].id) if self._held else None

    def turns(self) -> Iterator[list[tuple[int, AnyMessage]]]:
        """Yield the new messages with their indices, turn by turn."""
        turn: list[tuple[int, AnyMessage]] = []
        for placed in self._new:
            if turn and isinstance(placed[1], HumanMessage):
                yield turn
                turn = []
            turn.append(placed)
        if turn:
            yield turn

    def _read(self, place: int, said: ClientMessage, agent_id: str, many: int) -> _ReadMessage:
        records = to_records([_message(said, "")], first=0, session_id=self._session, agent_id=agent_id)
        if not records:
            raise UnfitMessageError(place, "it says nothing; leave such a message out")
        told = _ReadMessage(place, said, records[0])
        places = () if said.id or not self._gone else range(self._next + many)
        return replace(told, gone={one for one in places if self._record(told.name(one)) in self._gone})

    def _record(self, name: str) -> str:
        return MESSAGE.id(self._session, name)

    def _take(self) -> None:
        named: dict[str, _ReadMessage] = {}
        for one in self._told:
            if one.said.id:
                id_ = self._record(one.said.id)
                first, held = named.setdefault(one.said.id, one), self._by_id.get(id_)
                # the words of a partly forgotten message are unknown
                other = held is not None and held.key != one.key and id_ not in self._forgotten
                if first.key != one.key or other:
                    raise OtherWordsError(one.place)
                if first is not one or id_ in self._by_id:
                    self._taken[one.place] = StoredMessage(id=id_, outcome="known")
                elif id_ in self._gone:
                    self._taken[one.place] = StoredMessage(id=id_, outcome="forgotten")
        gone = {place for place, taken in self._taken.items() if taken.outcome == "forgotten"}
        left = [one for one in self._told if one.place not in gone]
        if not all(one.said.id for one in left):
            self._take_up(left)
        place = self._next
        for one in self._told:
            if one.place in self._taken:
                continue
            message = _message(one.said, one.name(place))
            id_ = message_record_id(self._session, message)
            self._taken[one.place] = StoredMessage(id=id_, outcome="forgotten" if id_ in self._gone else "new")
            if id_ not in self._gone:
                self._new.append((place, message))
            place += 1

    def _take_up(self, left: Sequence[_ReadMessage]) -> None:
        """Match messages with stored and forgotten ones."""
        there = {one.place for one in self._held}
        holes = {place for one in left for place in one.gone if place not in there}
        slots = sorted([*self._held, *map(_HeldPlace, holes)], key=lambda one: one.place)
        # before the last thing that the user says here, what was forgotten is history and not said again
        last = max((one.place for one in left if one.said.role == "user"), default=0)
        while left:
            where, length = self._repeated(left, slots)
            for one, slot in zip(left[:length], slots[where:], strict=False):
                id_ = slot.id or self._record(one.name(slot.place))
                self._taken[one.place] = StoredMessage(id=id_, outcome="known" if slot.id else "forgotten")
                self._next = max(self._next, slot.place + 1)
            left, slots = left[length:], slots[where + length :]
            history = list(takewhile(lambda one: one.gone and one.place < last, left))
            for one in history:
                self._taken[one.place] = StoredMessage(id=self._record(one.name(min(one.gone))), outcome="forgotten")
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
