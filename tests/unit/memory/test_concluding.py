"""The end of a conversation of any length, and what is told of turns whose facts the agent's tools keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.errors import ModelUnavailable
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.runner import AgentRunner
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Extractor, put
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Fact, fact_id
from react_mem.memory.work.items import Work
from react_mem.memory.write.conversations import MAX_MESSAGES, end_conversation
from react_mem.memory.write.turns import Turns
from tests.support.labels import Labeller, Says, episode

BY_TOOLS = {"extraction": {"mode": "agent"}}
DINNER = episode("plan a dinner for Lan", "a table is booked")
PLANS = ("Help me plan a dinner for Lan. I am allergic to peanuts.", "A table is booked.")


def turns(store: InMemoryStore, model: Extractor | None, **policy: Any) -> Turns:
    given = {"extraction": {"mode": "inline"}, "summaries": {"enabled": False}, **policy}
    return Turns(MemoryFacade(store, MemoryPolicy.model_validate(given)), model, "ann", "1", "tester")


def thread(*texts: str) -> list[BaseMessage]:
    return [(AIMessage if place % 2 else HumanMessage)(text, id=f"m{place}") for place, text in enumerate(texts)]


async def records(store: InMemoryStore, scope: MemoryScope, kind: str) -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace("ann", scope), filter={"kind": kind}, limit=1000)
    return sorted((item.value for item in found), key=lambda value: str(value["text"]))


async def long_conversation(one: Turns, length: int, statements: dict[int, str]) -> None:
    """Have a conversation of so many messages, with statements at some places that nobody has read."""
    said = [statements.get(place, "Thanks!" if place % 2 == 0 else "Fine.") for place in range(length)]
    stored = await one.memory.dialog.append("ann", "1", thread(*said), agent_id="tester")
    about = {"session_id": "1", "agent_id": "tester", "verbatim": True}
    facts = [
        Fact(id=fact_id("user", text), text=text, source_ids=(stored[n].id,), **about) for n, text in statements.items()
    ]
    await one.memory.apply([put("ann", one.conversation(ended=False)), *(put("ann", fact) for fact in facts)])


async def kept(store: InMemoryStore) -> list[tuple[str, bool]]:
    return [(value["text"], value["verbatim"]) for value in await records(store, MemoryScope.SEMANTIC, "fact")]


async def test_turns_of_an_agent_that_keeps_facts_by_its_tools_are_summed_up() -> None:
    store = InMemoryStore()
    model = Labeller(Says("allergic"), episode=DINNER, summary="User planned a dinner for Lan.", profile=[])
    one = turns(store, model, **BY_TOOLS)
    await one.close(thread(*PLANS), None)
    assert (await one.extract()).stored == []
    assert await kept(store) == []
    [told] = await records(store, MemoryScope.DIALOG, "summary")
    assert told["text"] == "User planned a dinner for Lan."
    [done] = await records(store, MemoryScope.EPISODIC, "episode")
    assert (done["level"], done["goal"], told["episodes"]) == ("task", "plan a dinner for Lan", [done["id"]])
    await end_conversation(one)
    levels = [value["level"] for value in await records(store, MemoryScope.EPISODIC, "episode")]
    assert (sorted(levels), await kept(store)) == (["conversation", "task"], [])


async def test_without_a_model_they_are_told_of_in_what_was_said() -> None:
    store = InMemoryStore()
    one = turns(store, None, **BY_TOOLS)
    await one.close(thread("Hello!", "Hi.", *PLANS), None)
    await end_conversation(one)
    [told] = await records(store, MemoryScope.DIALOG, "summary")
    [done] = await records(store, MemoryScope.EPISODIC, "episode")
    assert (done["level"], done["goal"]) == ("conversation", "Help me plan a dinner for Lan.")
    assert "I am allergic to peanuts." in told["text"]
    assert "A table is booked." in done["outcome"]
    assert await kept(store) == []


async def test_a_turn_that_could_not_be_summed_up_waits_and_leaves_no_fact() -> None:
    class Down(Labeller):
        async def extract(self, *args: Any, **kwargs: Any) -> Any:
            raise ModelUnavailable("down")

    store = InMemoryStore()
    one = turns(store, Down(), **BY_TOOLS)
    await one.close(thread(*PLANS), None)
    assert (await one.extract()).waiting == 1
    assert await kept(store) == []
    [waiting] = await one.memory.pending("ann")
    assert (waiting["attempts"], waiting["claimed_by"]) == (1, "")


async def test_one_run_reads_five_windows_and_the_work_comes_again_until_all_is_read() -> None:
    store = InMemoryStore()
    places = range(0, 600, 100)
    model = Labeller(*(Says(f"boat number {n}.") for n in places if n), rest=None)
    one = turns(store, model, extraction={"mode": "inline", "quiet_after": 0})
    await long_conversation(one, 600, {n: f"I own boat number {n}." for n in places})
    runner, work = AgentRunner(lambda store, who: one), Work(kind="maintain", agent="tester", session="1", due_at=0)
    calls = []
    while (await runner.run(store, "ann", work)).due_at is not None:
        calls.append(len(model.prompts))
    assert [*calls, len(model.prompts)] == [5, 7]
    assert [text for text, verbatim in await kept(store) if verbatim] == ["I own boat number 0."]
    # what the model made nothing of stays as it was said, and is not read whenever the conversation ends again
    await one.memory.apply([put("ann", one.conversation(ended=False))])
    await end_conversation(one)
    assert len(model.prompts) == 8


async def test_the_episode_of_a_long_conversation_is_told_from_what_was_summed_up() -> None:
    store = InMemoryStore()
    model = Labeller(episode=DINNER, rest=None)
    one = turns(store, model, summaries={"enabled": True})
    said = ["Help me plan a dinner for Lan.", "A table is booked.", *["Thanks!", "Fine."] * 60]
    history: Sequence[BaseMessage] = thread(*said)
    await one.close(history, None)
    await end_conversation(one)
    [whole] = [e for e in await records(store, MemoryScope.EPISODIC, "episode") if e["level"] == "conversation"]
    assert whole["goal"] == "plan a dinner for Lan"
    assert "user (before): Help me plan a dinner for Lan." in model.prompts[-1]
    chained = [value["id"] for value in await records(store, MemoryScope.DIALOG, "summary") if value["chain"]]
    assert len(whole["source_ids"]) <= MAX_MESSAGES
    assert not set(chained).isdisjoint(whole["source_ids"])
    # what it was told from goes, and it with that
    await one.memory.forget("ann", next(id_ for id_ in chained if id_ in whole["source_ids"]))
    assert not [e for e in await records(store, MemoryScope.EPISODIC, "episode") if e["level"] == "conversation"]
