"""Concepts and knowledge live and die with the facts they come from, on a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, tzinfo
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from psycopg import AsyncConnection

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.concept_store import load_concepts
from react_mem.memory.merging.skill_life import load_knowledge
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import ExistingMemory, Extraction, Operation, Relation, TranscriptMessage
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.driver import run
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.turns import Turns
from tests.support.databases import fresh_database, open_memory_store, word_model
from tests.support.retiring import retire

SEMANTIC = MemoryScope.SEMANTIC
POLICY = MemoryPolicy(summaries={"enabled": False}, learning={"experience": False}, extraction={"recover_after": 0})


@pytest.fixture
async def url(database_server: str) -> AsyncIterator[str]:
    async with fresh_database(database_server) as found:
        yield found


@pytest.fixture
async def store(url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(url, word_model()) as opened:
        yield opened


class Reading:
    """Reads lines of the user's as facts: what they say, or `name|what they say of them`."""

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        ops = []
        for message in messages:
            for line in message.text.splitlines() if message.role == "user" else ():
                about, _, text = line.rpartition("|")
                ended = next((known for known in existing if text == f"No more {known.text}"), None)
                relation: Relation = "ends" if ended is not None else "new"
                target = ended.id if ended is not None else None
                ops.append(Operation(relation, text, about or "user", target, source_ids=(message.id,)))
        return Extraction(ops=tuple(ops), calls=1)


async def turn(store: MemoryStore, session: str, *said: str, user: str = "ann") -> Turns:
    turns = Turns(MemoryFacade(store, POLICY), Reading(), user, session, "a")
    thread = [HumanMessage("\n".join(said), id=f"{session}-u"), AIMessage("Noted.", id=f"{session}-a")]
    await turns.close(thread, None)
    await turns.extract()
    return turns


async def names(store: MemoryStore, user: str = "ann") -> set[frozenset[str]]:
    found = (await load_concepts(store, user)).values()
    return {frozenset(alias.name for alias in concept.aliases) for concept in found}


async def rows_with(url: str, text: str) -> int:
    """How many rows of the database have a text anywhere."""
    async with await AsyncConnection.connect(url) as conn:
        found = await conn.execute("SELECT count(*) FROM store WHERE value::text ILIKE %s", (f"%{text}%",))
        row = await found.fetchone()
    return int(row[0]) if row else 0


LIKES = ("I like green tea", "I like oolong", "I like jasmine tea")


async def test_a_turn_brings_facts_and_concepts_in_one_batch(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = store.abatch_if

    async def failing(ops: Sequence[Any], guard: Any) -> bool:
        if any(getattr(op, "value", None) and op.value.get("kind") == "concept" for op in ops):
            raise ConnectionError("the database went away")
        return await written(ops, guard)

    monkeypatch.setattr(store, "abatch_if", failing)
    with pytest.raises(ConnectionError):
        await turn(store, "s1", "my friend is Anna Schmidt", "I live in Huế")
    assert await store.asearch(scope_namespace("ann", SEMANTIC)) == []

    monkeypatch.undo()
    await Turns(MemoryFacade(store, POLICY), Reading(), "ann", "s1", "a").extract()

    facts = await store.asearch(scope_namespace("ann", SEMANTIC), filter={"kind": "fact"})
    assert await names(store) == {frozenset({"Anna Schmidt"}), frozenset({"Huế"})}
    assert {source for one in (await load_concepts(store, "ann")).values() for source in one.source_ids} == {
        item.key for item in facts
    }


async def test_those_who_write_at_once_make_one_concept(url: str, store: MemoryStore) -> None:
    said = [("user", "I met Hà Nội's Anna"), ("Anna", "she sings"), ("user", "I was in Hanoi"), ("anna", "she runs")]
    async with open_memory_store(url, word_model()) as other:

        async def add(place: int, about: str, text: str) -> None:
            memory = MemoryFacade((store, other)[place % 2], POLICY)
            fact = {"about": about, "text": text}
            await memory.semantic.add([fact], user_id="ann", session_id=f"s{place}", agent_id="a")

        await asyncio.gather(*(add(place, *one) for place, one in enumerate(said)))

    found = {concept.name: len(concept.source_ids) for concept in (await load_concepts(store, "ann")).values()}
    assert found == {"Hà Nội": 2, "Anna": 3}


async def test_forgetting_a_conversation_leaves_nothing_that_only_it_said(url: str, store: MemoryStore) -> None:
    memory = MemoryFacade(store, POLICY)
    await turn(store, "s1", "my friend is Anna", "I live in Hà Nội", *LIKES)
    alone = await load_concepts(store, "ann")
    await turn(store, "s2", "Anna|she knows Müller", "I was in Hanoi", "I met Bob", "I like rooibos")
    await run(Consolidation(store, "ann", "a"))
    both = await names(store)

    await memory.delete_session("ann", "s2")

    assert both >= {frozenset({"Anna"}), frozenset({"Hà Nội", "Hanoi"})}
    assert await load_concepts(store, "ann") == alone
    # its text was made of all: it falls, and is drawn from what is left by the next run
    assert await load_knowledge(store, "ann") == {}
    for word in ("Müller", "Hanoi", "Bob", "rooibos"):
        assert await rows_with(url, word) == 0
    await run(Consolidation(store, "ann", "a"))
    [drawn] = (await load_knowledge(store, "ann")).values()
    assert (drawn.proofs, "rooibos" in drawn.text) == (3, False)


async def test_what_has_changed_ends_what_was_drawn_from_it(store: MemoryStore) -> None:
    memory = MemoryFacade(store, POLICY)
    await turn(store, "s1", *LIKES)
    await run(Consolidation(store, "ann", "a"))
    assert len(await load_knowledge(store, "ann")) == 1

    await turn(store, "s2", "No more I like oolong")
    assert await load_knowledge(store, "ann") == {}

    await turn(store, "s3", "I like rooibos")
    await run(Consolidation(store, "ann", "a"))
    [known] = (await load_knowledge(store, "ann")).values()
    tea = next(id_ for id_ in known.source_ids)
    await retire(memory, tea)
    assert await load_knowledge(store, "ann") == {}
