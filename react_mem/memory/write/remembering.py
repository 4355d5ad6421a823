"""Statements that a user tells memory directly, outside of any turn, by the rules of a turn.

Each text becomes a message of a conversation of its own, which an agent with a model reads afterwards, and each
statement in it a verbatim fact; standing instructions become none. A believed fact gets one more source, so that it
outlives the conversation that said it first; further repetitions add none, until it is forgotten or over.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langchain_core.messages import HumanMessage
from langgraph.store.base import GetOp, Item

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.entries import whole_text
from react_mem.memory.index.recall import is_over
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.standing import standing_in
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.reconcile import reconcile, stated, to_fact, ways
from react_mem.memory.merging.transcript import to_records
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE
from react_mem.memory.model.operations import Change, Operation, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message, fact_id, now
from react_mem.memory.model.views import MemoryItem
from react_mem.memory.rights.feedback import check_told, own_statements
from react_mem.memory.store.room import make_room
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, announce, put_work
from react_mem.memory.write.committing import REMEMBERED, kept_at_once
from react_mem.memory.write.session import Session

_SOURCES = 100  # latest sources of a fact that are searched for a message of this conversation


@dataclass(frozen=True)
class RememberedWords:
    """Records of a remembered text, a fact a statement and the message of an instruction, and the ids of new ones."""

    memories: tuple[MemoryItem, ...]
    new: frozenset[str]


async def remember(
    memory: MemoryFacade, user_id: str, text: str, *, about: str = "", agent_id: str = ""
) -> RememberedWords:
    """Remember a user's text verbatim; a fact believed in the same words gets one more source.

    Args:
        about: The subject by name; empty for the user. Statements about others stand as they are, since no model can
            resolve "she".
        agent_id: The agent that is to read it and lists it among its memories; empty for none.

    Raises:
        ValueError: If the text is too long or states nothing, such as a question; the message says what to do.
        MemoryFull: If the quotas leave no room for it.
        WriteConflict: If other writers of the owner were faster every time.
    """
    said, name = storable(text).strip(), " ".join(storable(about).split())
    whom = "user" if name.casefold() in ("", "user") else name
    check_told(said)
    order = standing_in(said)
    wish = order.said if order is not None and order.kind == "instruction" else ""
    statements = own_statements(said, or_nothing=bool(wish))
    await make_room(memory.store, user_id, memory.policy.quotas, [said, *statements])
    ids = [fact_id(whom, statement) for statement in statements]
    # each time it is said it is another message: a fact that has ended is believed again when it is said again
    own = HumanMessage(said, id=str(uuid.uuid4()))
    [message] = to_records([own], first=0, session_id=REMEMBERED, agent_id=agent_id)
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
