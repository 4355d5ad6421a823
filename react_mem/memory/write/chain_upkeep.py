"""Upkeep of a conversation's chain: each message is appended once, and due parts are summarised."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.entries import whole_text
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CHAIN, MESSAGE
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.records import Message, Summary
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.store.transactions import transact
from react_mem.memory.summaries.sources import MAX_WAITING, Fold, Source, applied, next_fold, without
from react_mem.memory.summaries.summarise import Made, Summariser, SummaryTask
from react_mem.memory.write.session import TurnReport
from react_mem.memory.write.summed_up import stands_for

MAX_FOLDS = 20
"""Most summaries made in one go, a minute or so of a fast model; a turn needs at most one of each of the four
levels. The rest of an older conversation is summarised behind its next turns.
"""


async def load_chain(memory: MemoryFacade, user_id: str, session_id: str) -> ContextChain | None:
    """Return the chain of a conversation; None without one."""
    found = await memory.records(user_id, MemoryScope.STATE, [CHAIN.id(session_id)])
    return next((ContextChain.from_value(value) for value in found.values()), None)


async def join(
    memory: MemoryFacade,
    user_id: str,
    turns: Sequence[PendingTurn],
    messages: Sequence[Message],
    before: ContextChain | None,
) -> tuple[ContextChain | None, list[Change]]:
    """Append the messages of turns to a chain; return the chain and its write, no write if nothing is new.

    Direct successors of the chain's end are appended. For anything else - the first turn of a conversation older
    than its chain, a gap, a branch - the whole conversation is read.
    """
    if not turns:
        return before, []
    if before is None:
        chain = await caught_up(memory, user_id, ContextChain.begin(turns[0].session_id, turns[0].agent_id))
        return chain, _write(user_id, None, chain)
    after: ContextChain | None = before
    said = {message.id: message for message in messages}
    for turn in turns:
        # what has yet to be caught up with comes before this turn
        if not turn.chained and not before.behind and after is not None:
            after = _followed(after, turn, said)
    after = after or await caught_up(memory, user_id, before)
    return after, _write(user_id, before, after)


async def caught_up(memory: MemoryFacade, user_id: str, chain: ContextChain) -> ContextChain:
    """Return a chain with the missing messages of its conversation that fit. Reads the whole conversation."""
    namespace = scope_namespace(user_id, MemoryScope.DIALOG)
    # one listing is one snapshot: of pages, a write in between moves some
    found = await memory.store.asearch(
        namespace, filter={"session_id": chain.session_id}, limit=WHOLE, refresh_ttl=False
    )
    joined = {entry.id for entry in chain.entries}
    for item in found:
        if item.value.get("chain") and item.value["level"] == "1":
            joined.update(item.value["source_ids"])
    said = (item.value for item in found if MESSAGE.matches(item.value) and item.value["text"])
    missing = [value for value in said if value["id"] not in joined]
    missing.sort(key=lambda value: (value["turn"], str(value["created_at"]), value["id"]))
    room = max(MAX_WAITING - chain.waiting, 0)
    latest = tuple(id_ for id_ in chain.latest if id_ in joined)
    after = chain.model_copy(update={"latest": latest}).append([Message.from_value(v) for v in missing[:room]])
    return after.model_copy(update={"behind": len(missing) > room})


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


def _write(user_id: str, before: ContextChain | None, after: ContextChain) -> list[Change]:
    return [put(user_id, after)] if after != before and after.entries else []


async def fold(
    memory: MemoryFacade,
    summariser: Summariser,
    *,
    user_id: str,
    session_id: str,
    agent_id: str,
    known: ContextChain | None = None,
) -> TurnReport:
    """Summarise the due parts of a conversation, as many as one go takes; `known` is the chain as last written."""
    making = summariser.begin(memory.policy.summaries, memory.policy.extraction.timeout)
    done, problems = TurnReport(), dict[str, None]()
    for _ in range(MAX_FOLDS):
        chain = await _current(memory, user_id, session_id, agent_id, known)
        known = None
        due = next_fold(chain, memory.policy.summaries) if chain else None
        if chain is None or due is None:
            break
        task = await _task(memory, user_id, chain, due)
        if task is None:
            continue
        made = await making.make(task)
        known = await _commit(memory, user_id, agent_id, due, made, session_id)
        problems |= dict.fromkeys(filter(None, [made.problem]))
        done += TurnReport(calls=made.calls, summarised=int(known is not None))
    return replace(done, problem="; ".join(problems))


async def _current(
    memory: MemoryFacade, user_id: str, session_id: str, agent_id: str, known: ContextChain | None
) -> ContextChain | None:
    """Return the chain, caught up once nothing of it is due; None for an empty conversation."""
    chain = known if known is not None else await load_chain(memory, user_id, session_id)
    if chain is not None and (not chain.behind or next_fold(chain, memory.policy.summaries)):
        return chain

    async def step() -> tuple[ContextChain | None, list[Change]]:
        before = await load_chain(memory, user_id, session_id)
        after = await caught_up(memory, user_id, before or ContextChain.begin(session_id, agent_id))
        return after if after.entries else None, _write(user_id, before, after)

    return await transact(memory.store, user_id, step)


async def _task(memory: MemoryFacade, user_id: str, chain: ContextChain, due: Fold) -> SummaryTask | None:
    """Return the task of a due summary; None if a message of it was forgotten, which leaves the chain."""
    waiting = [entry.id for entry in due.entries if entry.is_message]
    said = await memory.records(user_id, MemoryScope.DIALOG, waiting) if waiting else {}
    if gone := [id_ for id_ in waiting if id_ not in said]:

        async def step() -> tuple[None, list[Change]]:
            now = await load_chain(memory, user_id, chain.session_id)
            return None, [put(user_id, without(now, gone))] if now else []

        await transact(memory.store, user_id, step)
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


async def _commit(
    memory: MemoryFacade, user_id: str, agent_id: str, due: Fold, made: Made, session_id: str
) -> ContextChain | None:
    """Write a summary and the chain with it, and return the chain; None if the chain has changed since."""

    async def step() -> tuple[ContextChain | None, list[Change]]:
        chain = await load_chain(memory, user_id, session_id)
        if chain is None or not due.is_of(chain):
            # forgotten meanwhile, or folded by somebody else
            return None, []
        below = await _below(memory, user_id, due)
        known = tuple(below[due.master.id]["source_ids"]) if due.master is not None and due.master.id in below else ()
        summary = Summary(
            id=due.summary_id(session_id),
            text=made.text,
            level=due.level,
            chain=True,
            made_by=made.made_by,
            **due.extent,
            origin=due.origin,
            # when it was said: an old conversation that is summed up today is still an old one
            created_at=due.at,
            session_id=session_id,
            agent_id=agent_id,
            source_ids=tuple(dict.fromkeys((*known, *due.source_ids))),
            **await stands_for(memory, user_id, () if below else due.source_ids, below.values()),
        )
        after = applied(chain, due, summary)
        return after, [put(user_id, summary), put(user_id, after)]

    return await transact(memory.store, user_id, step)


async def _below(memory: MemoryFacade, user_id: str, due: Fold) -> dict[str, dict[str, Any]]:
    """Return the summaries covered by a fold, by id; none for a fold of messages."""
    ids = [entry.id for entry in due.parts if not entry.is_message]
    return await memory.records(user_id, MemoryScope.DIALOG, ids) if ids else {}


def _source(entry: ChainEntry, texts: Mapping[str, str]) -> Source:
    return Source.of_message(texts.get(entry.id, entry.text), entry.at, entry.role)
