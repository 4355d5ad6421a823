"""A conversation that is summed up behind its turns: what is stored, and what happens when something breaks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.records import Summary
from react_mem.memory.store.capabilities import everything
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.write.chain import find_summary, fold, unfold
from react_mem.memory.write.session import Session
from tests.unit.memory.summaries.talking import Conversation, shown_texts, summing_model


def facts(count: int) -> list[str]:
    return [f"I have {number} cats in town {number}." for number in range(1, count + 1)]


async def test_every_summary_is_stored_with_its_level_and_sources() -> None:
    model = summing_model()
    talk = Conversation(InMemoryStore(), Summariser([model])).shaped(window="oldest")
    report = await talk.say(*facts(6))
    first, second, third, higher = await talk.summaries()
    said = [message.content for message in talk.thread]
    records = await talk.records()
    assert [records[id_].text for id_ in first.source_ids] == said[:3]
    assert (first.level, first.covers, first.first_turn, first.last_turn) == ("1", 3, 0, 2)
    assert (higher.level, higher.covers, higher.source_ids) == ("2", 9, (first.id, second.id, third.id))
    assert all(summary.chain and summary.made_by == "ScriptedModel" for summary in await talk.summaries())
    assert shown_texts(model.prompts[0]) == said[:3]
    assert (report.summarised, report.calls, report.problem) == (4, 4, "")
    # when it was said, not when it was summed up
    assert first.created_at == records[first.source_ids[-1]].created_at


async def test_a_summary_of_an_invocation_is_none_of_the_chain() -> None:
    talk = Conversation(InMemoryStore())
    written = await talk.memory.dialog.update_summary("ann", "talk", "User asked X.", agent_id="tester")
    await talk.say(*facts(4))
    assert await talk.summaries() != []
    context = await talk.memory.dialog.get_context("ann", "talk")
    assert context.summary == written
    # as it was stored before there were chains
    old = {name: value for name, value in written.to_value().items() if name in Summary.model_fields}
    for name in ("chain", "made_by", "first_turn", "last_turn", "covers", "doubts"):
        del old[name]
    assert Summary.from_value(old) == written


# What there was before, and what comes out of order


async def test_an_older_conversation_is_summed_up_from_its_beginning() -> None:
    store = InMemoryStore()
    before = Conversation(store, summaries={"enabled": False})
    await before.say(*facts(7))
    talk = Conversation(store).shaped(window="oldest")
    talk.thread = before.thread
    await talk.say("And I like tea.")
    assert await talk.names() == "L2(1-9) L1(10-12) M13 M14 M15 M16"
    assert await talk.reachable() == [message.content for message in talk.thread]


async def test_a_branch_of_a_conversation_takes_the_place_of_the_one_that_was_left() -> None:
    talk = Conversation(InMemoryStore()).shaped(window="oldest")
    await talk.say(*facts(12))
    left = list(talk.thread)
    # the user goes back to the second turn and says something else
    branch = [str(message.content) for message in talk.thread[:4]]
    talk.thread = talk.thread[:4]
    known = talk.thread[-1].id
    talk.thread += [HumanMessage("No: a dog.", id="other"), AIMessage("A dog, then.", id="answer")]
    await talk.turns.close(talk.thread, known)
    await talk.turns.extract()
    assert sorted(await talk.reachable()) == sorted([*branch, "No: a dog.", "A dog, then."])
    # and back again, where there were summaries
    talk.thread = [*left, HumanMessage("Twelve it is.", id="back"), AIMessage("ok", id="end")]
    await talk.turns.close(talk.thread, left[-1].id)
    await talk.turns.extract()
    assert sorted(await talk.reachable()) == sorted(str(message.content) for message in talk.thread)


async def test_a_long_backlog_is_summed_up_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("react_mem.memory.write.chain.MAX_FOLDS", 4)
    monkeypatch.setattr("react_mem.memory.merging.forks.MAX_WAITING", 20)
    store = InMemoryStore()
    before = Conversation(store, summaries={"enabled": False})
    for text in facts(25):
        await before.store_turn(text)
    while (await before.turns.extract()).stored:
        pass
    talk = Conversation(store, Summariser([summing_model("What the user said of cats in towns.")]))
    talk.shaped(window="oldest")
    talk.thread = before.thread
    report = await talk.say("And I like tea.")
    assert report.summarised == 4
    chain = await talk.chain()
    # the chain is read in every turn: it does not hold what has to wait long
    assert chain.behind
    assert chain.waiting <= 20
    goes = 0
    while (await talk.turns.extract()).summarised:
        goes += 1
    assert goes > 1
    assert not (await talk.chain()).behind
    assert await talk.reachable() == [message.content for message in talk.thread]


# Breaking it


class DeadError(Exception):
    """The process dies."""


class Fragile(InMemoryStore):
    """Dies at the n-th batch from when it is told to."""

    fuse: int | None = None

    async def abatch(self, ops: Any) -> Any:
        if self.fuse is not None:
            if self.fuse == 0:
                raise DeadError
            self.fuse -= 1
        return await super().abatch(ops)


@pytest.mark.parametrize("window", ["oldest", "newest"])
async def test_a_crash_at_any_point_leaves_the_chain_whole(window: str) -> None:
    survived = False
    for fuse in range(100):
        store = Fragile()
        # the turn that is interrupted makes a summary, and of two summaries a higher one
        talk = Conversation(store).shaped(window=window, n_sum=4, sum_window=2, n_sum_sum=2)
        await talk.say(*facts(2))
        await talk.store_turn("I like tea.")
        store.fuse = fuse
        try:
            report = await talk.turns.extract()
            survived = not report.problem
        except DeadError:
            survived = False
        store.fuse = None
        # what is there is whole, each message at most once
        reachable = await talk.reachable()
        said = [str(message.content) for message in talk.thread]
        assert sorted(reachable) in (sorted(said[:-2]), sorted(said))
        # the worker is dead, and another takes its turns over
        await release_claims(store)
        await talk.turns.extract()
        assert sorted(await talk.reachable()) == sorted(said)
        assert await talk.names() == {"oldest": "L2(1-4) M5 M6", "newest": "M1 M2 L2(3-6)"}[window]
        if survived:
            break
    assert survived
    assert fuse > 10


async def release_claims(store: InMemoryStore) -> None:
    """Let the claims of a worker that died run out."""
    for item in await store.asearch(("memory", "ann", "pending")):
        await store.aput(item.namespace, item.key, {**item.value, "claimed_by": "", "claimed_until": None}, index=False)


async def fold_now(talk: Conversation, summariser: Summariser = EXTRACTIVE) -> Any:
    return await fold(Session(talk.memory, None, "ann", "talk", "tester", summariser))


async def waiting_to_be_folded(store: InMemoryStore, turns: int = 3) -> Conversation:
    """A conversation whose messages are in its chain, and of which nothing has been summed up."""
    talk = Conversation(store).shaped(n_sum=100, window="oldest")
    await talk.say(*facts(turns))
    return talk.shaped(n_sum=6)


async def test_two_workers_fold_what_is_due_once() -> None:
    talk = await waiting_to_be_folded(InMemoryStore())
    both = asyncio.Barrier(2)

    def meeting() -> Summariser:
        model = summing_model()

        async def ainvoke(prompt: Any, config: Any = None, **options: Any) -> Any:
            if not model.prompts:
                await both.wait()
            return model._next(list(prompt))

        summariser = Summariser([model])
        object.__setattr__(summariser.models[0][0], "ainvoke", ainvoke)
        return summariser

    one, other = await asyncio.gather(fold_now(talk, meeting()), fold_now(talk, meeting()))
    assert one.summarised + other.summarised == 1
    assert await talk.names() == "L1(1-3) M4 M5 M6"
    assert len(await talk.summaries()) == 1


async def test_what_is_forgotten_while_it_is_summed_up_stays_forgotten() -> None:
    store = InMemoryStore()
    talk = await waiting_to_be_folded(store)

    class Forgetful(Summariser):
        def begin(self, settings: Any, deadline: float) -> Any:
            making = super().begin(settings, deadline)
            make = making.make

            async def forgetting(task: Any) -> Any:
                await talk.memory.delete_session("ann", "talk")
                return await make(task)

            making.make = forgetting
            return making

    assert (await fold_now(talk, Forgetful())).summarised == 0
    assert [item for item in await store.asearch(("memory", "ann"), limit=100) if item.namespace[2] != "meta"] == []


# Odd things that are said


# Back to what was said


async def test_a_summary_is_unfolded_down_to_the_messages() -> None:
    talk = Conversation(InMemoryStore()).shaped(window="oldest", max_sum_lvl=2)
    await talk.say(*facts(15))
    assert await talk.names() == "master(1-27) M28 M29 M30"
    [master] = [entry for entry in (await talk.chain()).entries if entry.level == "master"]
    whole = await unfold(talk.memory, "ann", master.id)
    assert whole is not None
    assert [message.content for message in whole.messages] == [message.content for message in talk.thread[:27]]
    assert [part.record.id for part in whole.parts] == list(whole.record.source_ids)
    assert {part.record.level for part in whole.parts if isinstance(part.record, Summary)} == {"2"}


async def test_nobody_unfolds_what_is_anothers() -> None:
    talk = Conversation(InMemoryStore()).shaped(window="oldest")
    await talk.say(*facts(3))
    [summary] = await talk.summaries()
    assert await unfold(talk.memory, "bob", summary.id) is None
    assert await find_summary(talk.memory, "bob", "talk", summary.id) is None
    assert await find_summary(talk.memory, "bob", "talk", summary.id[:8]) is None
    assert await find_summary(talk.memory, "ann", "talk", summary.id[:8]) == summary.id
    assert await find_summary(talk.memory, "ann", "another", summary.id) == summary.id
    assert await find_summary(talk.memory, "ann", "talk", "") is None


# Rights


async def test_a_forgotten_conversation_leaves_no_summary_and_no_chain() -> None:
    store = InMemoryStore()
    talk = Conversation(store).shaped(window="oldest")
    await talk.say(*facts(14))
    other = Conversation(store, session="another").shaped(window="oldest")
    await other.say(*facts(3))
    await talk.memory.delete_session("ann", "talk")
    left = await everything(store, "ann")
    assert {item.value["session_id"] for item in left} == {"another"}
    assert await other.names() == "L1(1-3) M4 M5 M6"
    assert len(await other.summaries()) == 1
    await talk.memory.forget_user("ann")
    assert await store.asearch(("memory", "ann"), limit=500) == []


async def test_a_forged_summary_of_itself_ends() -> None:
    store = InMemoryStore()
    talk = Conversation(store)
    forged = Summary(
        id="loop", text="x", source_ids=("loop", "loop", "gone"), chain=True, session_id="talk", agent_id="tester"
    )
    await store.aput(("memory", "ann", "dialog"), "loop", forged.to_value())
    whole = await unfold(talk.memory, "ann", "loop")
    assert whole is not None
    assert (whole.parts, whole.missing) == ((), ("gone",))
