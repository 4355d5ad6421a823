"""Base of the scope stores: one owner a call, records validated on entry, their part of a read."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import wraps
from typing import Any, Self, cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from react_mem.memory.graph.links import capped
from react_mem.memory.index.entries import matches, orders
from react_mem.memory.index.recall import Question, Recall, RecallHit, RecallOp, only, read_question
from react_mem.memory.llm.causes import checked_calls
from react_mem.memory.merging.authors import speakers_of
from react_mem.memory.merging.facts import in_favour
from react_mem.memory.model.interface import ALL_ARMS, Arm, MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.kinds import KINDS, STATE, filter_marks, kinds_of
from react_mem.memory.model.namespaces import Namespace, scope_namespace
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.profile_schema import PROFILE_KEY, zone_in
from react_mem.memory.model.records import AnyRecord, Record, local, now, with_zone, written_in
from react_mem.memory.retrieval.relevance import relevant
from react_mem.memory.retrieval.results import distinct, fragments
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.room import make_room
from react_mem.memory.store.transactions import transact

_SPARE = 8
"""Maximum results of a recall beyond the wanted, so that near-duplicates can make room."""

MAX_AS_OF = 1_000
"""Nearest memories examined for a question as of a time, before those of another time are dropped."""


MAX_FILTERED = 1_000
"""Nearest memories examined for conditions that the index of words does not know."""


@checked_calls
class ScopeStore:
    """One scope of memory: its records in a store, under a policy of reads and schema (by default, and in a
    `MemoryFacade` its own). `scope` is for a store without special behaviour.
    """

    scope: MemoryScope

    def __init__(self, store: BaseStore, policy: MemoryPolicy | None = None, scope: MemoryScope | None = None) -> None:
        self.scope = scope or self.scope
        self.store = store
        self._policy = policy or MemoryPolicy.model_validate({})

    def within(self, store: BaseStore, policy: MemoryPolicy) -> Self:
        """Return the same scope as a part of a whole memory, on its store and under its policy."""
        part = copy(self)
        part.store, part._policy = store, policy
        return part

    def __init_subclass__(cls) -> None:
        checked_calls(cls)

    # What the combined read asks of a scope

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Return the store operations for a query; none where the policy turns the scope off.

        Without a parsed question a scope answers with its latest.
        """
        is_on = getattr(self._policy.recall, self.scope, True)
        return [self._search(query, question, with_spare(self._policy.recall.max_memories))] if is_on else []

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return the answers to `operations`, without `extra["seen"]`, as results, the most relevant first."""
        most = self._policy.recall.max_memories
        return [self.shown(one) for answer in answers for one in self._unseen(answer, query)[:most]]

    def as_of(self, value: Mapping[str, Any], at: datetime) -> dict[str, Any] | None:
        """Return a record of this scope as of a time; None where it did not exist, or was not believed."""
        return dict(value) if created_at(value) <= at else None

    def answers_as_of(self, answers: Sequence[Any], at: datetime) -> list[Any]:
        """Return the answers to `operations` as of a time."""

        def then(item: Any) -> Any:
            # what somebody else keeps there was made when it was stored
            dated = item.value if "created_at" in item.value else None
            value = dict(item.value) if dated is None and item.created_at <= at else dated and self.as_of(dated, at)
            if value is None:
                return None
            changed = copy(item)
            changed.value = value
            return changed

        def recalled(one: RecallHit) -> RecallHit | None:
            item = then(one.item)
            partner = None if one.partner is None else self.as_of(one.partner, at)
            return None if item is None else replace(one, item=item, partner=partner)

        def answer(found: Any) -> Any:
            if isinstance(found, Recall):
                return replace(found, found=[one for one in map(recalled, found.found) if one])
            if isinstance(found, list):
                kept = [one for one in map(then, found) if one]
                return sorted(kept, key=made_at, reverse=True)
            return None if found is None else then(found)

        return [answer(found) for found in answers]

    def shown(self, found: RecallHit | Item) -> MemoryResultItem:
        """Return a hit or an item of this scope as a result."""
        item, recalled = found if isinstance(found, Item) else found.item, {}
        if isinstance(found, RecallHit):
            recalled = {"similarity": found.similarity, "arms": found.arms, "fragments": fragments(found)}
        return MemoryResultItem(
            scope=self.scope,
            id=item.key,
            payload=item.value,
            score=item.score if isinstance(item, SearchItem) else None,
            source=str(item.value.get("kind", self.scope)),
            **recalled,
        )

    def _unseen(self, answer: Any, query: MemoryQuery) -> list[RecallHit | Item]:
        """Return the records that the caller does not have, in order, before the limit is applied."""
        seen = set(query.seen)
        if isinstance(answer, Recall) and query.extra.get("cut", True):
            answer = replace(answer, found=relevant(answer, query.query or ""))
        wanted = max(self._policy.recall.max_memories, self._policy.recall.max_docs, self._policy.recall.max_skills)
        return [one for one in in_order(answer, wanted) if one.key not in seen]

    # Writing

    async def write(self, event: MemoryWriteEvent) -> None:
        """Store the record of an event; an existing one stays as it is. A ValueError names a wrong field and the
        fix.
        """
        # its conversation and agent are the event's unless it names its own
        data = {"session_id": event.session_id, "agent_id": event.agent_id, **written_in(event), **event.data}
        await self._keep(event.user_id, [checked(self.scope, self.complete(data))], dated="created_at" in event.data)

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return data with derived fields, such as an id."""
        return data

    def made(self, kind: type[AnyRecord], data: Mapping[str, Any]) -> AnyRecord:
        """Return data as a record of one kind, as `write` would store it; a `ValueError` names field and fix."""
        record = checked(self.scope, self.complete({"kind": kind.model_fields["kind"].default, **data}))
        assert isinstance(record, kind)  # noqa: S101 - narrows for the type checker
        return record

    def namespace(self, user_id: str) -> Namespace:
        """Return the namespace of an owner's records of this scope."""
        return scope_namespace(user_id, self.scope)

    async def _room(self, user_id: str, records: Sequence[Any]) -> None:
        """Raise `MemoryFull` if the storage quotas of the policy leave no room for the records."""
        await make_room(self.store, user_id, self._policy.quotas, records)

    def _discreet(self, records: Sequence[Record]) -> list[Record]:
        """Return records with their secrets masked, unless the policy keeps them; an application's state stays."""
        return [one if STATE.matches(vars(one)) else one.discreet(self._policy.secrets) for one in records]

    async def _keep(self, user_id: str, records: Sequence[Record], *, dated: bool = True) -> None:
        """Write new or changed records, none trusted more than its sources; existing ones keep their first date.

        Without a date of their own (`dated`), their date does not make them differ.
        """

        records = await asyncio.to_thread(self._discreet, records)
        await self._room(user_id, records)

        async def step() -> tuple[None, list[Change]]:
            stored = await self.get(user_id, [record.id for record in records])
            changes = []
            for record in await capped(self.store, user_id, records):
                value, before = record.to_value(), stored.get(record.id)
                if before is not None and not dated:
                    value["created_at"] = before["created_at"]
                if value != before:
                    changes.append(put(user_id, record.from_value(value)))
            return None, [*changes, *self.beside(user_id, records)]

        await transact(self.store, user_id, step)

    def beside(self, user_id: str, records: Sequence[Record]) -> list[Change]:
        """Return further writes for the batch of these records; none by default."""
        return []

    # Reading

    def _search(
        self, query: MemoryQuery, question: Question | None, limit: int, *, pairs: bool = False, **conditions: Any
    ) -> Op | RecallOp:
        seen = query.seen
        if query.as_of is not None:
            # what came later is dropped from the result and must not crowd out the rest
            limit = WHOLE if question is None else max(limit, MAX_AS_OF)
        if question is None:
            # what the caller has already is dropped from the result and must not crowd out the rest
            return SearchOp(self.namespace(query.user_id), conditions or None, limit + len(seen))
        return self._recall(query.user_id, question, limit, conditions)._replace(without=seen, pairs=pairs)

    def _recall(self, user_id: str, question: Question, limit: int, conditions: Mapping[str, Any]) -> RecallOp:
        return RecallOp(
            self.namespace(user_id),
            question if self.scope is MemoryScope.DIALOG else question.naming(),
            conditions,
            limit,
            similarity=self._policy.recall.similarity,
            arms=frozenset(Arm) if self._policy.recall.links else ALL_ARMS,
        )

    async def _find(
        self, user_id: str, query: str, limit: int, conditions: Mapping[str, Any]
    ) -> list[MemoryResultItem]:
        # the index knows few fields: what meets the other conditions is told from what is found
        known: dict[str, Any] = {}
        for name in filter_marks() & conditions.keys():
            wanted = conditions[name]
            value = wanted["$ne"] if isinstance(wanted, Mapping) and set(wanted) == {"$ne"} else wanted
            if isinstance(value, str | bool):
                known[name] = wanted
        rest = {name: one for name, one in conditions.items() if name not in known}
        if not query.strip():
            return [self.shown(one) for one in await self._listed(user_id, limit, known, rest)]
        wide = MAX_FILTERED if rest else limit
        question = read_question(query, now(), await speakers_of(self.store, user_id))
        answer: Any
        [answer] = await recall(self.store, [self._recall(user_id, question, wide, known)])
        results = [self.shown(one) for one in in_order(only(answer, lambda value: matches(value, rest)), limit)][:limit]
        if rest and len(results) < limit and len(answer.found) >= MAX_FILTERED:
            # there are more than were looked at
            ids = {one.id for one in results}
            more = map(self.shown, await self._listed(user_id, limit, known, rest, query=query))
            results += [one for one in more if one.id not in ids]
        return results[:limit]

    async def _listed(
        self, user_id: str, limit: int, known: Mapping[str, Any], rest: Mapping[str, Any], query: str | None = None
    ) -> list[SearchItem]:
        """Return the records that meet conditions, in the store's order, which follows vectors alone for a query."""
        ordered = orders(rest)
        asked, room = ({**known}, WHOLE) if ordered else ({**known, **rest}, limit)
        found = await self.store.asearch(self.namespace(user_id), query=query, filter=asked or None, limit=room)
        return [item for item in found if not ordered or matches(item.value, rest)][:limit]

    async def get(self, user_id: str, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the records that exist among these ids, by id, in one round trip."""
        wanted = dict.fromkeys(ids)
        found = await self.store.abatch([GetOp(self.namespace(user_id), id_) for id_ in wanted])
        return {item.key: item.value for item in cast("list[Item | None]", found) if item is not None}

    async def _latest(self, user_id: str, limit: int, **conditions: Any) -> list[dict[str, Any]]:
        """Return the latest records that meet conditions, the oldest of them first."""
        # PostgreSQL returns the last written first, LangGraph's InMemoryStore the first
        room = WHOLE if isinstance(self.store, InMemoryStore) else limit
        found = await self.store.asearch(self.namespace(user_id), filter=conditions, limit=room, refresh_ttl=False)
        return sorted((item.value for item in found), key=created_at)[-limit:]

    async def every(self, user_id: str, **conditions: Any) -> list[dict[str, Any]]:
        """Return every record that meets conditions, in the store's order."""
        found = await self.store.asearch(self.namespace(user_id), filter=conditions, limit=WHOLE, refresh_ttl=False)
        return [item.value for item in found]


async def question_of(store: BaseStore, query: MemoryQuery) -> Question | None:
    """Return the parsed question of a query; None where it asks nothing."""
    if not query.query or not query.query.strip() or not query.scopes:
        return None
    question = read_question(query.query, query.asked_at, speakers := await speakers_of(store, query.user_id))
    if not question.periods:
        return question
    # "yesterday" is a day of the user's; few questions name one
    item = await store.aget(scope_namespace(query.user_id, MemoryScope.PROFILE), PROFILE_KEY, refresh_ttl=False)
    zone = zone_in(item.value) if item is not None else UTC
    return question if zone is UTC else read_question(query.query, local(query.asked_at, zone), speakers)


def with_spare(wanted: int) -> int:
    """Return the limit of a recall for a number of wanted results."""
    return wanted + min(wanted, _SPARE)


def in_order(answer: Any, wanted: int) -> Sequence[RecallHit | Item]:
    """Return a recall, items, an item or nothing in display order, the most relevant of `wanted` records first."""
    if isinstance(answer, Recall):
        return distinct(in_favour(answer.found), wanted)
    if answer is None:
        return ()
    return [answer] if isinstance(answer, Item) else list(answer)


def model_of(place: str, data: Mapping[str, Any]) -> type[Record]:
    """Return the record class for data in a scope or the place of pending turns; without a `kind`, the first one there.
    A `ValueError` says that there is no such scope or kind.
    """
    kinds = {kind.name: kind.record for kind in kinds_of(place)}
    if not kinds:
        places = dict.fromkeys(kind.place for kind in KINDS.values())
        raise ValueError(f"there is no memory scope {place!r}; there are {', '.join(sorted(places))}")
    record = kinds.get(str(data.get("kind", next(iter(kinds)))))
    if record is None:
        raise ValueError(f"memory scope {place}: kind: {data['kind']!r} is none of {', '.join(kinds)}")
    return record


def checked(place: str, data: Mapping[str, Any]) -> Record:
    """Return data as a record of a scope or of pending turns; a `ValueError` names the wrong field and the fix."""
    record = model_of(place, data)
    try:
        return record.model_validate(dict(data))
    except ValidationError as error:
        where = f"memory scope {place}: " if place in set(MemoryScope) else ""
        raise ValueError(f"{where}{explain(error, record)}") from None


def created_at(value: Mapping[str, Any]) -> datetime:
    """Return the creation time of a stored record."""
    return with_zone(datetime.fromisoformat(str(value["created_at"])))


def made_at(item: Item) -> datetime:
    """Return the creation time of an item's record, or else of the item."""
    return created_at(item.value) if "created_at" in item.value else item.created_at


def explain(error: ValidationError, kind: type[Record]) -> str:
    """Return the validation errors of a record, field by field, each with its fix."""
    lines = []
    for details in error.errors(include_url=False):
        field = ".".join(map(str, details["loc"])) or str(kind.model_fields["kind"].default)
        match details["type"]:
            case "missing":
                known = kind.model_fields.get(field)
                what = f" ({known.description})" if known is not None and known.description else ""
                lines.append(f"{field}: is missing; give it{what}")
            case "extra_forbidden":
                [*within, name] = details["loc"]
                if within:
                    lines.append(f"{field}: is no field there; leave it out")
                    continue
                near = get_close_matches(str(name), kind.model_fields, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"leave it out or use {', '.join(kind.model_fields)}"
                named = str(kind.model_fields["kind"].default)
                article = "an" if named[:1] in "aeiou" else "a"
                lines.append(f"{field}: is not a field of {article} {named}; {hint}")
            case _:
                message = details["msg"]
                lines.append(f"{field}: {message[:1].lower()}{message[1:]}, got {details['input']!r:.80}")
    return "; ".join(lines)


# Memory of one owner: the calls of the scope stores, with owner, conversation and agent filled in.


class BoundScope:
    """Scope store of one owner, the default of `user_id`, `session_id` and `agent_id`: the calls that take an owner."""

    def __init__(self, scope: ScopeStore, owner: dict[str, str]) -> None:
        self._scope = scope
        self._owner = owner

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return a call of the scope store for this owner; `AttributeError` if there is none that takes one."""
        method = None if name.startswith("_") else getattr(self._scope, name, None)
        taken = inspect.signature(method) if inspect.iscoroutinefunction(method) else None
        if taken is None or "user_id" not in taken.parameters:
            raise AttributeError(f"the {self._scope.scope} scope of one owner has no call {name!r}")
        assert method is not None  # noqa: S101 - narrows for the type checker

        @wraps(method)
        async def call(*args: Any, **named: Any) -> Any:
            given = taken.bind_partial(*args, **named).arguments
            if given.get("user_id", self._owner["user_id"]) != self._owner["user_id"]:
                raise ValueError("this is the memory of another user; open theirs with `memory.of(user_id)`")
            rest = {name: who for name, who in self._owner.items() if name in taken.parameters and name not in given}
            return await method(*args, **named, **rest)

        return call


class BoundMemory:
    """Memory of one owner, by scopes: `memory.of("ann").state` has the calls of `memory.state` for ann.

    Without a `session_id` the calls name the conversation.
    """

    def __init__(self, scopes: Iterable[ScopeStore], user_id: str, session_id: str | None, agent_id: str) -> None:
        if not user_id:
            raise ValueError("user_id must not be empty: nobody's memory is everybody's")
        owner = {"user_id": user_id, "agent_id": agent_id} | ({} if session_id is None else {"session_id": session_id})
        bound = {scope.scope: BoundScope(scope, owner) for scope in scopes}
        self.dialog, self.state = bound[MemoryScope.DIALOG], bound[MemoryScope.STATE]
        self.semantic, self.episodic = bound[MemoryScope.SEMANTIC], bound[MemoryScope.EPISODIC]
        self.procedural, self.profile = bound[MemoryScope.PROCEDURAL], bound[MemoryScope.PROFILE]
        self.experience = bound[MemoryScope.EXPERIENCE]
