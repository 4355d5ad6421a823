"""What happens to a turn when something else happens to it meanwhile: forgotten, gone on with, failed, another's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.errors import ModelUnavailable
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.merging.transcript import NOTICE
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace, work_namespace
from react_mem.memory.model.operations import (
    EpisodeDraft,
    ExistingMemory,
    Extraction,
    Operation,
    ProfileChange,
    TranscriptMessage,
)
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.states import MAX_FAILURES
from react_mem.memory.write.conversations import end_conversation, quiet_conversations
from react_mem.memory.write.turns import Turns

Reading = Callable[[str], Extraction]
"""From the id of the user's first message to what is drawn."""


class Reader:
    """An extractor that draws what the test says, once the test lets it."""

    def __init__(self, reading: Reading = lambda _: Extraction(), failure: Exception | None = None) -> None:
        self.reading = reading
        self.failure = failure
        self.calls = 0
        self.shown: Sequence[TranscriptMessage] = ()
        self.existing: Sequence[ExistingMemory] = ()
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        **_: Any,
    ) -> Extraction:
        self.calls += 1
        self.shown = messages
        self.existing = existing
        self.asked.set()
        await self.go_on.wait()
        if self.failure:
            raise self.failure
        return self.reading(next(message.id for message in messages if message.role == "user"))


ALLERGY = "I am allergic to peanuts."


def allergic(message_id: str) -> Extraction:
    operation = Operation("new", ALLERGY, source_ids=(message_id,))
    return Extraction(ops=(operation,), episode=EpisodeDraft("plan a dinner"), summary="User told of an allergy.")


def living_in(city: str) -> Reading:
    return lambda message_id: Extraction(profile_changes=(ProfileChange("city", city, (message_id,)),))


def turns(store: InMemoryStore, reader: Reader, session: str = "1", agent: str = "tester", **policy: Any) -> Turns:
    memory = MemoryFacade(store, MemoryPolicy(extraction={"mode": "inline"}).model_copy(update=policy))
    return Turns(memory, reader, "ann", session, agent)


async def say(one: Turns, *texts: str) -> None:
    history: list[BaseMessage] = []
    for number, text in enumerate(texts):
        name = f"{one.session_id}-{number}"
        history += [HumanMessage(text, id=f"q{name}"), AIMessage("ok", id=f"a{name}")]
    await one.close(history, None)


async def said(store: InMemoryStore, user: str = "ann") -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace(user, MemoryScope.DIALOG), filter={"kind": "message"}, limit=50)
    return sorted((item.value for item in found), key=lambda value: value["turn"])


async def kinds(store: InMemoryStore) -> list[str]:
    items = await store.asearch(("memory", "ann"), limit=100)
    return sorted(str(item.value["kind"]) for item in items if item.namespace[2] != "meta")


async def episode_levels(store: InMemoryStore) -> list[str]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.EPISODIC), limit=50)
    return [item.value["level"] for item in found]


@pytest.mark.parametrize("failure", [None, ModelUnavailable("down")])
async def test_what_is_forgotten_while_it_is_read_stays_forgotten(failure: Exception | None) -> None:
    store, reader = InMemoryStore(), Reader(allergic, failure)
    one = turns(store, reader)
    await say(one, "I am allergic to peanuts.")
    reader.go_on.clear()
    work = asyncio.create_task(one.extract())
    await reader.asked.wait()
    await one.memory.forget_user("ann")
    reader.go_on.set()
    await work
    assert await kinds(store) == []


async def test_what_is_forgotten_before_it_is_indexed_stays_forgotten() -> None:
    class ForgetfulStore(InMemoryStore):
        """Has the user forgotten as soon as their turn has been claimed."""

        forgetting: asyncio.Task[Any] | None = None

        async def abatch(self, ops: Any) -> Any:
            batch = list(ops)
            if self.forgetting is None and any((getattr(op, "value", 0) or {}).get("claimed_by") for op in batch):
                self.forgetting = asyncio.create_task(MemoryFacade(self).forget_user("ann"))
                # it is next in the queue of this owner's steps
                await asyncio.sleep(0)
            return await super().abatch(batch)

    store = ForgetfulStore()
    one = turns(store, Reader(allergic))
    await say(one, "I am allergic to peanuts.")
    await one.extract()
    assert store.forgetting is not None
    await store.forgetting
    assert await kinds(store) == []


async def test_what_is_said_while_a_conversation_is_concluded_leaves_it_open() -> None:
    store, reader = InMemoryStore(), Reader()
    one = turns(store, reader, extraction={"quiet_after": 0})
    await say(one, "I am allergic to peanuts.")
    await one.extract()
    reader.asked.clear()
    reader.go_on.clear()
    work = asyncio.create_task(end_conversation(one))
    await reader.asked.wait()
    await say(one, "I am allergic to peanuts.", "I have a cat.")
    reader.go_on.set()
    await work
    assert await quiet_conversations(one) == ["1"]


async def test_a_conversation_that_is_concluded_again_is_still_one_episode() -> None:
    store = InMemoryStore()
    one = turns(store, Reader(allergic))
    await say(one, "I am allergic to peanuts.")
    await end_conversation(one)
    await say(one, "I am allergic to peanuts.", "And to shrimps.")
    await end_conversation(one)
    assert (await episode_levels(store)).count("conversation") == 1


async def test_an_agent_that_draws_nothing_draws_nothing_at_the_end_either() -> None:
    reader = Reader(allergic)
    one = turns(InMemoryStore(), reader, extraction={"mode": "off", "quiet_after": 0})
    await say(one, "I am allergic to peanuts.")
    await end_conversation(one)
    assert reader.calls == 0
    assert await quiet_conversations(one) == []


@pytest.mark.parametrize("mode", ["agent", "off"])
async def test_an_agent_that_draws_nothing_leaves_the_turns_of_others_waiting(mode: str) -> None:
    store = InMemoryStore()
    crashed = turns(store, Reader(allergic), extraction={"recover_after": 0})
    await say(crashed, "I am allergic to peanuts.")
    await turns(store, Reader(), "2", "other", extraction={"mode": mode, "recover_after": 0}).extract()
    assert len(await crashed.memory.pending("ann")) == 1
    await crashed.extract()
    assert "fact" in await kinds(store)


async def test_whatever_fails_is_parked_with_its_error_and_claimed_by_nobody() -> None:
    one = turns(InMemoryStore(), Reader(failure=RuntimeError("peanuts cannot be stored")))
    await say(one, "I am allergic to peanuts.")
    for _ in range(MAX_FAILURES):
        with pytest.raises(RuntimeError):
            await one.extract()
    await one.extract()
    [parked] = await one.memory.pending("ann")
    assert parked["failures"] == MAX_FAILURES
    assert parked["last_error"].startswith(f"RuntimeError, raised in {__name__}, line ")
    assert not parked["claimed_by"]


class NoAnswers(DeterministicFakeEmbedding):
    """Embeds documents, and fails a question as a test has it fail."""

    def __init__(self, hangs: bool) -> None:
        super().__init__(size=4)
        self._hangs = hangs

    async def aembed_query(self, text: str) -> list[float]:
        if self._hangs:
            await asyncio.Future()
        raise ConnectionError("no route to the provider")


@pytest.mark.parametrize("hangs", [False, True], ids=["raises", "hangs"])
async def test_without_the_embedder_a_turn_is_read_beside_the_facts_that_share_words(
    hangs: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("react_mem.memory.write.drawing._SECONDS", 0.01)
    store = InMemoryStore(index={"dims": 4, "embed": NoAnswers(hangs), "fields": ["text"]})
    reader = Reader(allergic)
    one = turns(store, reader)
    await say(one, "I am allergic to peanuts.")
    assert (await one.extract()).stored == [ALLERGY]
    again = turns(store, reader, "2")
    await say(again, "Are peanuts in this?")
    await again.extract()
    assert [one.text for one in reader.existing] == [ALLERGY]
    assert await one.memory.pending("ann") == []
    assert "by its words only" in caplog.text
    assert "peanuts" not in caplog.text


async def test_a_turn_that_is_read_late_does_not_change_the_profile_back() -> None:
    store = InMemoryStore()
    late, newer = turns(store, Reader(living_in("Hanoi"))), turns(store, Reader(living_in("Hue")), "2")
    await say(late, "I live in Hanoi.")
    await say(newer, "I live in Hue.")
    await newer.extract()
    await late.extract()
    profile = await newer.memory.profile.get_profile("ann")
    assert profile is not None
    assert profile.fields["city"].value == "Hue"
    assert [before.value for before in profile.fields["city"].previous] == ["Hanoi"]


async def test_a_model_is_shown_when_each_message_was_said_and_which_it_has_read() -> None:
    store, reader = InMemoryStore(), Reader()
    one = turns(store, reader)
    history: list[BaseMessage] = [HumanMessage("I went surfing.", id="q1"), AIMessage("Great!", id="a1")]
    await one.close(history, None)
    await one.extract()
    history += [HumanMessage("Thanks!", id="q2"), AIMessage("Shall I look for a course?", id="a2")]
    step = {"action": "look", "arguments": {}, "observation": "nothing", "error": ""}
    await one.close(history, "a1", [step])
    await one.extract()
    assert [(m.role, m.text, m.context) for m in reader.shown if m.role != "tool"] == [
        ("user", "I went surfing.", True),
        ("assistant", "Great!", True),
        ("user", "Thanks!", False),
        ("assistant", "Shall I look for a course?", False),
    ]
    assert all(m.at is not None for m in reader.shown if m.role != "tool")


async def test_a_turn_that_ends_without_an_answer_to_keep_is_read_soon() -> None:
    store = InMemoryStore()
    turns = Turns(MemoryFacade(store), Reader(), "ann", "1", "tester")
    asked = HumanMessage("I live in Hue.", id="q")
    spoken_for_it = AIMessage("The model cannot be reached.", id="a", additional_kwargs={NOTICE: True})
    await turns.open([asked], None)
    opened = {item.value["kind"] for item in await store.asearch(work_namespace("ann"))}
    await turns.close([asked, spoken_for_it], "q")
    closed = {item.value["kind"]: item.value["due_at"] for item in await store.asearch(work_namespace("ann"))}
    assert opened == {"maintain"}
    assert closed["extract"] < closed["maintain"]


@pytest.mark.parametrize(
    ("heard", "origin"),
    [
        ({}, "assistant"),
        ({"searched": True}, "web"),
        ({"steps": [{"action": "weather", "arguments": {}, "observation": "hot", "error": ""}]}, "tool"),
        ({"steps": [{"action": "store_fact", "arguments": {}, "observation": "Stored.", "error": ""}]}, "assistant"),
    ],
)
async def test_an_answer_is_trusted_no_more_than_what_its_turn_has_heard(heard: dict[str, Any], origin: str) -> None:
    store = InMemoryStore()
    thread = [HumanMessage("Is it hot?", id="q"), AIMessage("You live in Rome.", id="a")]
    one = turns(store, Reader())
    await one.open(thread[:1], None)
    await one.close(thread, "q", **heard)
    assert [message["origin"] for message in await said(store)] == ["user", origin]


async def test_what_an_imported_message_says_is_not_the_users() -> None:
    store, there = InMemoryStore(), InMemoryStore()
    one = turns(store, Reader())
    await one.close([HumanMessage(ALLERGY, id="q"), AIMessage("ok", id="a")], None)
    other = turns(there, Reader(allergic))
    await other.memory.import_user("ann", [line async for line in one.memory.export_user("ann")])
    await other.extract()
    [fact] = await other.memory.semantic.history(user_id="ann")
    assert (fact.text, fact.origin.value) == (ALLERGY, "import")


async def test_what_an_imported_message_asks_to_forget_stays() -> None:
    store, there = InMemoryStore(), InMemoryStore()
    one = turns(store, Reader())
    await one.close([HumanMessage("Forget my allergy.", id="q"), AIMessage("ok", id="a")], None)
    known = Operation("new", ALLERGY)

    def forgets(message_id: str) -> Extraction:
        return Extraction(ops=(Operation("forget", "", target_id=known.id, quote="x", source_ids=(message_id,)),))

    other = turns(there, Reader(forgets))
    await write_facts(there, "ann", [known], at=datetime(2026, 1, 2, tzinfo=UTC), session_id="s", agent_id="a")
    await other.memory.import_user("ann", [line async for line in one.memory.export_user("ann")])
    await other.extract()
    [fact] = await other.memory.semantic.history(user_id="ann")
    assert (fact.text, fact.current) == (ALLERGY, True)
