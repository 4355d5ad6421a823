"""What was kept without a model is drawn from again once there is one, and once only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.errors import ModelUnavailable
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import ExistingMemory, Extraction, Operation, TranscriptMessage, Unread
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.turns import Turns


class Reader:
    """Draws allergies; everything else it leaves as it was said."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.shown: list[str] = []

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        **_: Any,
    ) -> Extraction:
        if self.failure:
            raise self.failure
        told = [message for message in messages if message.role == "user"]
        self.shown += [message.text for message in told]
        operations = [
            Operation("new", message.text, reading="User is allergic to peanuts.", source_ids=(message.id,))
            for message in told
            if "peanuts" in message.text
        ]
        # what it has not drawn from, it has not read
        unread = tuple(Unread(message.text, message.id) for message in told if "peanuts" not in message.text)
        return Extraction(ops=tuple(operations), unread=unread, complete=not unread)


def keyless(store: InMemoryStore, session: str = "1", agent: str = "tester") -> Turns:
    return Turns(
        MemoryFacade(store, MemoryPolicy.model_validate({"extraction": {"mode": "inline", "recover_after": 0}})),
        None,
        "ann",
        session,
        agent,
    )


async def say(one: Turns, *texts: str) -> None:
    for text in texts:
        said = [HumanMessage(text, id=f"q{one.session_id}{text}"), AIMessage("ok", id=f"a{one.session_id}{text}")]
        await one.close(said, None)
        await one.extract()


async def facts(store: InMemoryStore) -> dict[str, bool]:
    """Return the facts that are believed, and whether each is in the words of the user."""
    found = await MemoryFacade(store).list_records("ann", [MemoryScope.SEMANTIC])
    return {str(item.payload["text"]): bool(item.payload["verbatim"]) for item in found if item.payload["current"]}


async def test_what_was_kept_word_for_word_is_read_once_there_is_a_model() -> None:
    store, reader = InMemoryStore(), Reader()
    await say(keyless(store), "I am allergic to peanuts.", "I have a blue bike.")
    assert await facts(store) == {"I am allergic to peanuts.": True, "I have a blue bike.": True}

    elsewhere = replace(keyless(store, "2"), extractor=reader)
    await elsewhere.extract()
    assert sorted(reader.shown) == ["I am allergic to peanuts.", "I have a blue bike."]
    assert await facts(store) == {"I am allergic to peanuts.": False, "I have a blue bike.": True}
    assert await elsewhere.memory.pending("ann") == []

    await elsewhere.extract()
    assert len(reader.shown) == 2, "what a model has left unread is not offered again and again"


async def test_what_a_model_could_not_read_waits_and_is_not_lost() -> None:
    store = InMemoryStore()
    await say(keyless(store), "I am allergic to peanuts.")
    failing = replace(keyless(store, "2"), extractor=Reader(ModelUnavailable("down")))
    await failing.extract()
    assert await facts(store) == {"I am allergic to peanuts.": True}
    assert len(await failing.memory.pending("ann")) == 1


async def test_another_agents_words_are_left_to_its_own_model() -> None:
    store, reader = InMemoryStore(), Reader()
    await say(keyless(store), "I am allergic to peanuts.")
    await replace(keyless(store, "2", agent="other"), extractor=reader).extract()
    assert reader.shown == []


async def test_more_than_fits_at_once_is_worked_off_turn_by_turn() -> None:
    store, reader = InMemoryStore(), Reader()
    await say(keyless(store), *(f"I own book number {number}." for number in range(30)))
    elsewhere = replace(keyless(store, "2"), extractor=reader)
    await elsewhere.extract()
    assert 0 < len(reader.shown) <= 20
    await elsewhere.extract()
    await elsewhere.extract()
    assert len(set(reader.shown)) == 30
