"""Chain of a conversation: messages are appended, due parts summarised, summaries unfolded into their sources."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph.store.base import GetOp, Item

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import FOUNDS, Direction, reader
from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.standing import states_preference
from react_mem.memory.merging.forks import regrown
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CHAIN, EPISODE, FACT, MESSAGE, SUMMARY
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.records import Fact, Message, Summary
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.transactions import transact
from react_mem.memory.summaries.sources import Fold, Source, applied, next_fold, without
from react_mem.memory.summaries.summarise import Made, SummaryTask
from react_mem.memory.write.session import Session, TurnReport

MAX_FOLDS = 20
"""Most summaries made in one go, a minute or so of a fast model; a turn needs at most one of each of the four
levels. The rest of an older conversation is summarised behind its next turns.
"""


async def load_chain(memory: MemoryFacade, user_id: str, session_id: str) -> ContextChain | None:
    """Return the chain of a conversation; None without one."""
    found = await memory.records(user_id, MemoryScope.STATE, [CHAIN.id(session_id)])
    return next((ContextChain.from_value(value) for value in found.values()), None)


async def join(
    session: Session, turns: Sequence[PendingTurn], messages: Sequence[Message], before: ContextChain | None
) -> tuple[ContextChain | None, list[Change]]:
    """Append the messages of turns to a chain; return the chain and its write, no write if nothing is new.

    Direct successors of the chain's end are appended. For anything else - the first turn of a conversation older
    than its chain, a gap, a branch - the whole conversation is read.
    """
    if not turns:
        return before, []
    if before is None:
        chain = await _caught_up(session, ContextChain.begin(turns[0].session_id, turns[0].agent_id))
        return chain, _write(session, None, chain)
    after: ContextChain | None = before
    said = {message.id: message for message in messages}
    for turn in turns:
        # what has yet to be caught up with comes before this turn
        if not turn.chained and not before.behind and after is not None:
            after = _followed(after, turn, said)
    after = after or await _caught_up(session, before)
    return after, _write(session, before, after)


async def _caught_up(session: Session, chain: ContextChain) -> ContextChain:
    """Return a chain with the missing messages of its conversation that fit. Reads the whole conversation."""
    # one listing is one snapshot: of pages, a write in between moves some
    found = await session.memory.store.asearch(
        scope_namespace(session.user_id, MemoryScope.DIALOG),
        filter={"session_id": chain.session_id},
        limit=WHOLE,
        refresh_ttl=False,
    )
    told = [Summary.from_value(item.value) for item in found if SUMMARY.matches(item.value) and item.value["chain"]]
    messages = (item.value for item in found if MESSAGE.matches(item.value))
    # a long conversation takes a while
    return await asyncio.to_thread(lambda: regrown(chain, told, [Message.from_value(value) for value in messages]))


def _followed(chain: ContextChain, turn: PendingTurn, said: dict[str, Message]) -> ContextChain | None:
    """Return the chain with a turn's new messages; None if there may be a gap."""
    before = turn.context_ids[-1] if turn.context_ids else None
    for id_ in turn.source_ids:
        if id_ in said and not chain.has(id_):
            if before is not None and not chain.has(before):
                return None
            chain = chain.append([said[id_]])
        before = id_
    return chain


def _write(session: Session, before: ContextChain | None, after: ContextChain) -> list[Change]:
    return [put(session.user_id, after)] if after != before and after.entries else []


async def fold(session: Session, known: ContextChain | None = None) -> TurnReport:
    """Summarise the due parts of a conversation, as many as one go takes; `known` is the chain as last written."""
    policy = session.memory.policy
    making = session.summariser.begin(policy.summaries, policy.extraction.timeout)
    done, problems = TurnReport(), dict[str, None]()
    for _ in range(MAX_FOLDS):
        chain = await _current(session, known)
        known = None
        due = next_fold(chain, policy.summaries) if chain else None
        if chain is None or due is None:
            break
        task = await _task(session, chain, due)
        if task is None:
            continue
        made = await making.make(task)
        known = await _commit(session, due, made)
        problems |= dict.fromkeys(filter(None, [made.problem]))
        done += TurnReport(calls=made.calls, summarised=int(known is not None))
    return replace(done, problem="; ".join(problems))


async def _load(session: Session) -> ContextChain | None:
    return await load_chain(session.memory, session.user_id, session.session_id)


async def _current(session: Session, known: ContextChain | None) -> ContextChain | None:
    """Return the chain, caught up once nothing of it is due; None for an empty conversation."""
    chain = known if known is not None else await _load(session)
    if chain is not None and (not chain.behind or next_fold(chain, session.memory.policy.summaries)):
        return chain

    async def step() -> tuple[ContextChain | None, list[Change]]:
        before = await _load(session)
        after = await _caught_up(session, before or ContextChain.begin(session.session_id, session.agent_id))
        return after if after.entries else None, _write(session, before, after)

    return await transact(session.memory.store, session.user_id, step)


async def _task(session: Session, chain: ContextChain, due: Fold) -> SummaryTask | None:
    """Return the task of a due summary; None if a message of it was forgotten, which leaves the chain."""
    waiting = [entry.id for entry in due.entries if entry.is_message]
    said = await session.memory.records(session.user_id, MemoryScope.DIALOG, waiting) if waiting else {}
    if gone := [id_ for id_ in waiting if id_ not in said]:

        async def step() -> tuple[None, list[Change]]:
            now = await _load(session)
            return None, [put(session.user_id, without(now, gone))] if now else []

        await transact(session.memory.store, session.user_id, step)
        return None
    texts = {id_: whole_text(value) for id_, value in said.items()}
    begin = chain.entries.index(due.entries[0])
    earlier = [entry for entry in chain.entries[:begin] if not entry.is_message]
    return SummaryTask(
        level=due.level,
        sources=await asyncio.to_thread(lambda: tuple(_source(entry, texts) for entry in due.entries)),
        before=_source(earlier[-1], {}) if earlier and due.master is None else None,
        master=_source(due.master, {}) if due.master else None,
        covers=due.extent["covers"],
    )


async def _commit(session: Session, due: Fold, made: Made) -> ContextChain | None:
    """Write a summary and the chain with it, and return the chain; None if the chain has changed since."""

    async def step() -> tuple[ContextChain | None, list[Change]]:
        chain = await _load(session)
        if chain is None or not due.is_of(chain):
            # forgotten meanwhile, or folded by somebody else
            return None, []
        # the summaries that it covers; none for a fold of messages
        ids = [entry.id for entry in due.parts if not entry.is_message]
        below = await session.memory.records(session.user_id, MemoryScope.DIALOG, ids) if ids else {}
        known = tuple(below[due.master.id]["source_ids"]) if due.master is not None and due.master.id in below else ()
        summary = Summary(
            id=due.summary_id(session.session_id),
            text=made.text,
            level=due.level,
            chain=True,
            made_by=made.made_by,
            **due.extent,
            origin=due.origin,
            # when it was said: an old conversation that is summed up today is still an old one
            created_at=due.at,
            **session.where,
            source_ids=tuple(dict.fromkeys((*known, *due.source_ids))),
            **await _stands_for(session, () if below else due.source_ids, below.values()),
        )
        after = applied(chain, due, summary)
        return after, [put(session.user_id, summary), put(session.user_id, after)]

    return await transact(session.memory.store, session.user_id, step)


def _source(entry: ChainEntry, texts: Mapping[str, str]) -> Source:
    return Source.of_message(texts.get(entry.id, entry.text), entry.at, entry.role)


# Episodes and preferences covered by a summary, found through its sources without a model.

_MOST_NAMED = 50
"""Most episodes, and preferences, that a summary names, the latest: a master covers a conversation of any length."""


async def _stands_for(
    session: Session, messages: Sequence[str], below: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """Return the episodes and preferences of a summary of messages, or of the summaries below, as its fields."""
    said = await reader(session.memory.store, session.user_id)(messages)
    drawn = [
        edge.to
        for document in said.values()
        for edge in document.edges.values()
        if edge.direction is Direction.IN and edge.kind in FOUNDS
    ]
    told = [id_ for value in below for name in ("episodes", "task_preferences") for id_ in value.get(name, ())]
    ids = list(dict.fromkeys((*drawn, *told)))
    if not ids:
        return {}
    wanted = [GetOp(kind.namespace(session.user_id), id_) for kind in (EPISODE, FACT) for id_ in ids]
    found = [item for item in await session.memory.store.abatch(wanted) if isinstance(item, Item)]
    return {
        "episodes": _latest((str(one.value["created_at"]), one.key) for one in found if EPISODE.matches(one.value)),
        "task_preferences": preferences_among(Fact.from_value(one.value) for one in found if FACT.matches(one.value)),
    }


def preferences_among(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Return the ids of the believed facts that state a preference, the latest last."""
    preferred = (fact for fact in facts if fact.current and states_preference(fact.text))
    return _latest((fact.said_at.isoformat(), fact.id) for fact in preferred)


async def told_of_in_chain(session: Session, episode_id: str) -> list[Change]:
    """Return the writes that name a conversation's episode in the summaries of its chain."""
    chain = await _load(session)
    ids = [entry.id for entry in chain.entries if not entry.is_message] if chain is not None else []
    found = await session.memory.records(session.user_id, MemoryScope.DIALOG, ids) if ids else {}
    summaries = [Summary.from_value(value) for value in found.values() if SUMMARY.matches(value)]
    return [
        put(session.user_id, summary.model_copy(update={"episodes": (*summary.episodes, episode_id)[-_MOST_NAMED:]}))
        for summary in summaries
        if episode_id not in summary.episodes
    ]


def _latest(dated: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(id_ for _, id_ in sorted(dated)[-_MOST_NAMED:])


# Expansion of a summary into its sources, level by level, down to the messages.

MIN_PREFIX = 6  # characters of an id that tell the dozen summaries of one chain apart
_MAX_DEPTH = 12  # most levels, messages and master included, and one to spare


@dataclass(frozen=True)
class Unfolded:
    """Summary or message, with its sources in the order of the conversation, and the ids of deleted ones."""

    record: Summary | Message
    parts: tuple[Unfolded, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def messages(self) -> list[Message]:
        """All messages below, in the order of the conversation."""
        if isinstance(self.record, Message):
            return [self.record]
        return [message for part in self.parts for message in part.messages]


async def unfold(memory: MemoryFacade, user_id: str, summary_id: str) -> Unfolded | None:
    """Return a summary as a tree of its sources, with one round trip a level; None if the owner has no such summary."""
    found: dict[str, dict[str, Any]] = {}
    wanted = {summary_id}
    for _ in range(_MAX_DEPTH):
        level = await memory.records(user_id, MemoryScope.DIALOG, wanted)
        found |= level
        below = (id_ for value in level.values() if SUMMARY.matches(value) for id_ in value["source_ids"])
        wanted = set(below) - found.keys()
        if not wanted:
            break
    if not SUMMARY.matches(found.get(summary_id, {})):
        return None
    return _tree(found[summary_id], found, set())


async def find_summary(memory: MemoryFacade, user_id: str, session_id: str, name: str) -> str | None:
    """Return the id of a summary by its id or first six characters or more: in a conversation's chain, else in any."""
    chain = await load_chain(memory, user_id, session_id)
    entries = [entry.id for entry in chain.entries if not entry.is_message] if chain else []
    matching = [id_ for id_ in entries if len(name) >= MIN_PREFIX and id_.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    known = await memory.records(user_id, MemoryScope.DIALOG, [name])
    if SUMMARY.matches(known.get(name, {})):
        return name
    if len(name) < MIN_PREFIX:
        return None
    # of another conversation, as memory found it
    summaries = await memory.dialog.every(user_id, kind=SUMMARY.name)
    named = [str(value["id"]) for value in summaries if str(value["id"]).startswith(name)]
    return named[0] if len(named) == 1 else None


def _tree(value: dict[str, Any], found: Mapping[str, dict[str, Any]], seen: set[str]) -> Unfolded:
    seen.add(value["id"])
    if MESSAGE.matches(value):
        return Unfolded(Message.from_value(value))
    parts: list[Unfolded] = []
    missing: list[str] = []
    for id_ in value["source_ids"]:
        # each once: what somebody has forged may name a part twice, or itself
        if id_ in found and id_ not in seen:
            parts.append(_tree(found[id_], found, seen))
        elif id_ not in found:
            missing.append(id_)
    return Unfolded(Summary.from_value(value), tuple(parts), tuple(missing))
