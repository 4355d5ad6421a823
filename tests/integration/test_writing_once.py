"""What is said is written once, whatever the store, however many write at once, whenever one of them fails."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.errors import ExtractionError, InvalidOutput, ModelUnavailable
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import (
    EpisodeDraft,
    ExistingMemory,
    Extraction,
    Operation,
    TranscriptMessage,
    Unread,
)
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import now
from react_mem.memory.model.states import MAX_FAILURES
from react_mem.memory.write.committing import MAX_VERBATIM
from react_mem.memory.write.conversations import end_conversation
from react_mem.memory.write.turns import Turns
from tests.support.databases import open_memory_store, word_model
from tests.support.retiring import retire
from tests.support.stores import STORES, open_any_store

PARAPHRASES = {
    "home": ["I live in Hanoi.", "My home is in Hanoi.", "Tôi sống ở Hà Nội."],
    "allergy": ["I am allergic to peanuts.", "I have a peanut allergy.", "Tôi bị dị ứng với peanuts."],
    "work": ["I work as a nurse.", "My job: nurse.", "My profession is nurse."],
    "pet": ["I have a cat.", "I own a pet cat.", "I keep a cat."],
    "drink": ["I like green tea.", "I love green tea.", "Green tea is what I enjoy."],
}
MEANS = {text: meaning for meaning, texts in PARAPHRASES.items() for text in texts}
FIRST = [text for text, *_ in PARAPHRASES.values()]
LATER = [text for text in MEANS if text not in FIRST]


class Reader:
    """An extractor that reads each message in its own words, and knows what it is shown and means the same."""

    def __init__(self, failure: Exception | None = None, hold: asyncio.Event | None = None) -> None:
        self.failure = failure
        self.hold = hold
        self.started = asyncio.Event()

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        self.started.set()
        if self.hold:
            await self.hold.wait()
        if self.failure:
            raise self.failure
        known = {MEANS[memory.text]: memory.id for memory in existing if memory.text in MEANS}
        ops = tuple(
            self.read(message, known.get(MEANS[message.text]))
            for message in messages
            if message.role == "user" and message.text in MEANS
        )
        episode = EpisodeDraft(goal="get to know each other") if len(messages) > 2 else None
        return Extraction(ops=ops, episode=episode, summary="User told of themselves.", calls=1)

    def read(self, message: TranscriptMessage, known: str | None) -> Operation:
        """Return what a message states."""
        return Operation("same" if known else "new", message.text, target_id=known, source_ids=(message.id,))


@pytest.fixture(params=["in memory", "memory store"])
async def store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    async with open_any_store(request.param, database_server) as opened:
        yield opened


@pytest.fixture(params=STORES)
async def any_store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    async with open_any_store(request.param, database_server) as opened:
        yield opened


def turns(store: BaseStore, session: str = "1", extractor: Any = None, **policy: Any) -> Turns:
    memory = MemoryFacade(store, MemoryPolicy(extraction={"mode": "inline"}).model_copy(update=policy))
    return Turns(memory, extractor or Reader(), "ann", session, "tester")


def thread(*texts: str, session: str = "1") -> list[BaseMessage]:
    pairs = [
        (HumanMessage(t, id=f"{session}-q{n}"), AIMessage("ok", id=f"{session}-a{n}")) for n, t in enumerate(texts)
    ]
    return list(itertools.chain.from_iterable(pairs))


async def facts(store: BaseStore, *, everything: bool = False) -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=500)
    return [item.value for item in found if everything or item.value["current"]]


async def say(turns: Turns, *texts: str) -> None:
    history = thread(*texts, session=turns.session_id)
    await turns.open(history[:-1], None)
    await turns.close(history, None)


async def write(store: BaseStore, place: str, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        one = turns(store, f"{place}-{number}")
        await say(one, text)
        await one.extract()


async def test_fifteen_paraphrases_of_five_facts_are_five_facts(any_store: BaseStore) -> None:
    await write(any_store, "one", list(MEANS))
    kept = await facts(any_store)
    assert [(fact["support"], len(fact["source_ids"])) for fact in kept] == [(3, 3)] * 5
    ways = [{fact["text"], *(wording["text"] for wording in fact["wordings"])} for fact in kept]
    assert sorted(map(sorted, ways)) == sorted(map(sorted, PARAPHRASES.values()))


@pytest.mark.parametrize("labelled", [True, False])
async def test_words_in_which_a_fact_is_known_are_no_new_fact_whatever_the_model_says(
    store: BaseStore, labelled: bool
) -> None:
    class Unknowing(Reader):
        async def extract(self, messages: Any, existing: Any, **kwargs: Any) -> Extraction:
            said = [message for message in messages if message.role == "user" and not message.context]
            if labelled:
                return Extraction(ops=tuple(self.read(message, None) for message in said))
            return Extraction(unread=tuple(Unread(message.text, message.id) for message in said), complete=False)

    await write(store, "one", list(MEANS))
    for number, text in enumerate(LATER):
        one = turns(store, f"again-{number}", Unknowing())
        await say(one, text)
        await one.extract()
    kept = await facts(store)
    assert [(fact["support"], len(fact["wordings"]), fact["verbatim"]) for fact in kept] == [(5, 2, False)] * 5


async def test_and_so_they_are_when_five_write_at_once(any_store: BaseStore) -> None:
    await write(any_store, "first", FIRST)
    await asyncio.gather(*(write(any_store, str(place), LATER[place::5]) for place in range(5)))
    kept = await facts(any_store)
    assert [(fact["support"], len(fact["wordings"])) for fact in kept] == [(3, 2)] * 5


async def test_five_processes_lose_no_update(database_url: str) -> None:
    """Each writer has a store of its own and no lock in common, as processes have."""

    async def writer(place: int) -> None:
        async with open_memory_store(database_url, word_model()) as mine:
            await write(mine, str(place), LATER[place::5])

    def in_a_thread(place: int) -> None:
        asyncio.run(writer(place))

    async with open_memory_store(database_url, word_model()) as store:
        await write(store, "first", FIRST)
        await asyncio.gather(*(asyncio.to_thread(in_a_thread, place) for place in range(5)))
        assert [(fact["support"], len(fact["wordings"])) for fact in await facts(store)] == [(3, 2)] * 5
        assert await MemoryFacade(store).pending("ann") == []


async def test_two_workers_draw_from_a_turn_once(store: BaseStore) -> None:
    hold = asyncio.Event()
    slow, other = Reader(hold=hold), Reader()
    one = turns(store, extractor=slow)
    await say(one, "I live in Hanoi.")
    first = asyncio.create_task(one.extract())
    await slow.started.wait()
    assert (await turns(store, extractor=other).extract()).calls == 0
    hold.set()
    assert (await first).calls == 1
    [fact] = await facts(store)
    assert fact["support"] == 1


async def test_a_cancelled_extraction_leaves_the_turn_to_the_next(store: BaseStore) -> None:
    slow = Reader(hold=asyncio.Event())
    one = turns(store, extractor=slow)
    await say(one, "I live in Hanoi.")
    task = asyncio.create_task(one.extract())
    await slow.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await turns(store).extract()).calls == 1
    assert len(await facts(store)) == 1


@pytest.mark.parametrize("failure", [ModelUnavailable("down"), InvalidOutput("nonsense", raw="?")])
async def test_what_fails_is_kept_word_for_word_read_later_and_not_kept_twice(
    store: BaseStore, failure: ExtractionError, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = turns(store, extractor=Reader(failure))
    await say(one, "I live in Hanoi.")
    report = await one.extract()
    assert (report.stored, report.waiting) == (["I live in Hanoi."], 1)
    assert [fact["verbatim"] for fact in await facts(store)] == [True]
    monkeypatch.setattr("react_mem.memory.write.session.now", lambda: now() + timedelta(minutes=1))
    await turns(store).extract()
    assert [(fact["text"], fact["verbatim"]) for fact in await facts(store)] == [("I live in Hanoi.", False)]
    assert await MemoryFacade(store).pending("ann") == []


async def test_an_outage_however_long_parks_nothing_and_is_not_asked_at_every_turn(
    store: BaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [now()]
    monkeypatch.setattr("react_mem.memory.write.session.now", lambda: clock[0])
    down = Reader(ModelUnavailable("down"))
    one = turns(store, extractor=down)
    await say(one, "I live in Hanoi.")
    waits = []
    for _ in range(MAX_FAILURES * 2):
        await one.extract()
        down.started.clear()
        await one.extract()
        assert not down.started.is_set()
        [waiting] = await MemoryFacade(store).pending("ann")
        retry_at = datetime.fromisoformat(waiting["retry_at"])
        waits.append((retry_at - clock[0]).total_seconds())
        clock[0] = retry_at + timedelta(seconds=1)
    assert waits[:3] == [15, 30, 60]
    assert max(waits) == 3600
    assert (await turns(store).extract()).calls == 1
    assert [fact["verbatim"] for fact in await facts(store)] == [False]


async def test_what_was_taken_back_does_not_return_when_the_conversation_ends(store: BaseStore) -> None:
    one = turns(store)
    await say(one, "I live in Hanoi.", "I have a cat.")
    await one.extract()
    [home] = [fact for fact in await facts(store) if fact["text"] == "I live in Hanoi."]
    await retire(one.memory, home["id"])

    class Differently(Reader):
        def read(self, message: TranscriptMessage, known: str | None) -> Operation:
            text = message.text.replace("I live", "User is at home")
            return replace(super().read(message, known), text=text)

    await end_conversation(replace(one, extractor=Differently()))
    assert [fact["text"] for fact in await facts(store)] == ["I have a cat."]


async def test_each_agent_reads_its_own_turns_and_those_of_its_user_only(store: BaseStore) -> None:
    one = turns(store, extraction={"recover_after": 0})
    await say(one, "I live in Hanoi.")
    for other in (replace(one, agent_id="other", session_id="2"), replace(one, user_id="bob")):
        assert (await other.extract()).calls == 0
    assert await store.asearch(("memory", "bob")) == []
    assert (await one.extract()).calls == 1


async def test_a_refused_proposal_keeps_the_words_it_was_about(store: BaseStore) -> None:
    class Partial(Reader):
        async def extract(self, messages: Any, existing: Any, **kwargs: Any) -> Extraction:
            [said] = [message for message in messages if message.role == "user"]
            operation = Operation("new", "I live in Hanoi.", source_ids=(said.id,))
            refused = "not in the form that was asked for"
            unread = Unread("I am a keen diver.", said.id)
            return Extraction(ops=(operation,), unread=(unread,), rejected=(refused,), complete=False)

    one = turns(store, extractor=Partial())
    await say(one, "I live in Hanoi. I am a keen diver.")
    await one.extract()
    kept = sorted((fact["text"], fact["verbatim"]) for fact in await facts(store))
    assert kept == [("I am a keen diver.", True), ("I live in Hanoi.", False)]


async def test_of_a_paste_that_no_label_covers_a_bounded_number_of_statements_is_kept_and_that_is_said(
    store: BaseStore,
) -> None:
    class Unlabelled(Reader):
        async def extract(self, messages: Any, existing: Any, **kwargs: Any) -> Extraction:
            [said] = [message for message in messages if message.role == "user"]
            unread = tuple(Unread(f"{sentence}.", said.id) for sentence in said.text.rstrip(".").split(". "))
            return Extraction(unread=unread, complete=False)

    one = turns(store, extractor=Unlabelled())
    await say(one, " ".join(f"I own book {number}." for number in range(MAX_VERBATIM + 50)))
    report = await one.extract()
    kept = [fact["text"] for fact in await facts(store)]
    assert sorted(kept) == sorted(f"I own book {number}." for number in range(MAX_VERBATIM))
    assert f"more than {MAX_VERBATIM} statements" in report.problem


async def test_a_turn_that_is_run_again_is_not_drawn_from_again(store: BaseStore) -> None:
    one = turns(store)
    history = thread("I live in Hanoi.")
    drawn = []
    for _ in range(2):  # the first run was killed before it was noted how far memory is
        await one.open(history[:1], None)
        await one.close(history, history[0].id)
        drawn.append((await one.extract()).calls)
    assert drawn == [1, 0]
    assert await MemoryFacade(store).pending("ann") == []


@pytest.mark.parametrize(("mode", "calls"), [("agent", 1), ("off", 0)])
async def test_without_automatic_extraction_the_words_are_indexed_and_no_fact_is_drawn(
    store: BaseStore, mode: str, calls: int
) -> None:
    one = turns(store, extraction={"mode": mode})
    await say(one, "I live in Hanoi.")
    assert (await one.extract()).calls == calls
    assert await facts(store) == []
    assert await MemoryFacade(store).pending("ann") == []
    found = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), query="I live in Hanoi.", limit=1)
    assert (found[0].value["content"], found[0].score is not None) == ("I live in Hanoi.", True)
