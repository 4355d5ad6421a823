"""Facts that an extraction is shown beside what was said: those that share its words, however many there are."""

from __future__ import annotations

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import Fact
from react_mem.memory.write.drawing import NEIGHBOURS, related_facts

_OTHERS = 520
_SISTER = "My sister Linh plays the cello."


@pytest.fixture
async def store() -> BaseStore:
    store = InMemoryStore()
    texts = [*(f"Bed {number} has tomatoes." for number in range(_OTHERS)), _SISTER]
    facts = (Fact(id=f"fact-{number}", text=text, session_id="s", agent_id="a") for number, text in enumerate(texts))
    await MemoryFacade(store).apply([put("ann", fact) for fact in facts])
    return store


async def shown(store: BaseStore, *said: str) -> list[str]:
    facts = await related_facts(store, "ann", said)
    assert len({fact.id for fact in facts}) == len(facts) <= NEIGHBOURS
    return [fact.text for fact in facts]


async def test_a_fact_that_shares_words_is_shown_beside_hundreds_of_others(store: BaseStore) -> None:
    assert _SISTER in await shown(store, "Linh has moved to Vinh.")
