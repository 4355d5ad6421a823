"""Proof of absence: looking for words everywhere that memory could still have them, and failing where it has."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.model.interface import ALL_ARMS, MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import now
from react_mem.memory.retrieval import last_known
from react_mem.memory.retrieval.stock_recall import recall
from react_mem.memory.store.capabilities import everything, set_aside

SEARCHED = (MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.PROCEDURAL)


async def places_with(store: BaseStore, user_id: str, word: str, question: str) -> list[str]:
    """Return the names of the places in a user's memory that have a word, each once."""
    found: list[str] = []
    memory = MemoryFacade(store)

    def look(place: str, value: object) -> None:
        if word in str(value) and place not in found:
            found.append(place)

    for item in [*await everything(store, user_id), *await set_aside(store, user_id)]:
        look(f"scope {item.namespace[2]}", item.value)
    # whatever else is kept under the owner: links, bookkeeping
    for item in await store.asearch(("memory", user_id), limit=10_000):
        look("bookkeeping", item.value)
    asked = read_question(question, now())
    for arm in sorted(ALL_ARMS):
        ops = [RecallOp(scope_namespace(user_id, scope), asked, {}, 50, arms=frozenset({arm})) for scope in SEARCHED]
        answers = await recall(store, ops)
        look(f"arm {arm}", [one.item.value for answer in answers if isinstance(answer, Recall) for one in answer.found])
    look("history", await memory.semantic.history(user_id=user_id))
    look("cache", last_known.kept(store, user_id))
    look("export", [line async for line in memory.export_user(user_id)])
    return found


async def assert_absent(store: BaseStore, user_id: str, word: str, question: str) -> None:
    """Fail where a word is still anywhere in a user's memory."""
    found = await places_with(store, user_id, word, question)
    assert not found, f"{word} is still in: {', '.join(found)}"
