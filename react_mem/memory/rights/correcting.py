"""Correcting one fact: what the user says instead supersedes it, and it stays as dated history."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from react_mem.errors import MemoryChanged
from react_mem.memory.language.statements import statements_in
from react_mem.memory.language.text import normalise
from react_mem.memory.merging.episodes import ways
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.reconcile import reconcile
from react_mem.memory.model.identity import CORRECTED
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import Fact, fact_id, now, record_id
from react_mem.memory.model.shown import fingerprint
from react_mem.memory.rights.own_statements import check_told, own_statement
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.transactions import transact


async def correct_fact(
    store: BaseStore, user_id: str, id_: str, text: str, *, revision: str = "", vouched: bool = False
) -> Fact:
    """Put the user's own words in the place of a fact.

    Args:
        store: The store.
        user_id: The owner.
        id_: A fact that is believed.
        text: What is true instead.
        revision: What the fact was like when it was looked at (`MemoryItem.revision`); empty for whatever it is.
        vouched: Whether it has been checked that the user states it, in whatever form.

    Returns:
        The fact that is believed now.

    Raises:
        MemoryChanged: If it is not like that any more.
        ValueError: If there is no such fact, it is not believed any more, or the text states nothing or the same.
    """
    words = storable(text).strip()
    check_told(words)

    async def step() -> tuple[Fact, list[Change]]:
        fact = (await load_facts(store, user_id, (), [id_])).get(id_)
        if fact is None:
            raise ValueError("only a fact can be corrected; anything else can be deleted")
        if revision:
            item = await store.aget(FACT.namespace(user_id), id_, refresh_ttl=False)
            if item is None or fingerprint(item.value) != revision:
                raise MemoryChanged
        if not fact.current:
            raise ValueError("it is not believed any more; correct the fact that is")
        if normalise(fact.text) == normalise(words):
            raise ValueError("that is what it says already")
        # nobody has to put it better than what it replaces, or than what it was before
        before = (await load_facts(store, user_id, (), [fact_id(fact.about, words)])).values()
        any_form = vouched or not statements_in(fact.text) or any(ways(one) & {normalise(words)} for one in before)
        said = own_statement(words, any_form=any_form)
        # a clock that has been set back leaves facts that were said later than now
        at = max(now(), fact.said_at)
        source = record_id("correction", id_, normalise(said), at.isoformat())
        operation = Operation("changes", said, about=fact.about, target_id=id_, source_ids=(source,))
        stored = await load_facts(store, user_id, [operation])
        changed = reconcile([operation], stored, at=at, session_id=CORRECTED, agent_id=fact.agent_id)
        [believed] = [one for one in changed if one.id == operation.id]
        return believed, await fact_changes(store, user_id, changed)

    return await transact(store, user_id, step)
