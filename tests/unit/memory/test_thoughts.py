"""Tool calls and thinking of messages: kept with the answer they led to, for those whom they concern."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.context.memories import render_memories
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.entries import whole_text
from react_mem.memory.merging.transcript import to_records
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import ExistingMemory, Extraction, TranscriptMessage
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Message
from react_mem.memory.rights.forgetting import forget_said
from react_mem.memory.write.turns import Turns

SECRET = "Perhaps this is about the bluebird."


class Shown:
    """An extractor that notes what it is shown."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        self.texts += [message.text for message in messages]
        return Extraction(summary="They asked how warm it is.")


def call(tool: str, id_: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "args": arguments, "id": id_, "type": "tool_call"}


def asked_and_answered(*, thought: str = SECRET, **arguments: Any) -> list[BaseMessage]:
    return [
        HumanMessage("How warm is it in Huế?", id="q"),
        AIMessage("", id="c", tool_calls=[call("weather", **(arguments or {"city": "Huế"}))]),
        ToolMessage("31 degrees", tool_call_id="c1", id="r"),
        AIMessage([{"type": "thinking", "thinking": thought}, {"type": "text", "text": "It is 31 degrees."}], id="a"),
    ]


def recorded(*thread: BaseMessage) -> list[Message]:
    return to_records(thread, first=0, session_id="s", agent_id="a")


def turns(store: InMemoryStore, agent: str, shown: Shown | None = None) -> Turns:
    policy = MemoryPolicy.model_validate({"extraction": {"mode": "background"}})
    return Turns(MemoryFacade(store, policy), shown or Shown(), "ann", f"of {agent}", agent)


def reading(agent: str, question: str | None = "How warm is it in Huế?") -> MemoryQuery:
    # what was said in another conversation is only found
    session = "another" if question else "of a"
    return MemoryQuery(user_id="ann", session_id=session, agent_id=agent, scopes=[MemoryScope.DIALOG], query=question)


def test_the_calls_of_a_turn_hang_on_the_answer_they_led_to() -> None:
    again = [HumanMessage("Thanks", id="q2"), AIMessage("You are welcome.", id="a2")]
    question, answer, thanks, welcome = recorded(*asked_and_answered(), *again)
    [called] = answer.tool_calls
    assert (called.name, called.arguments, called.id) == ("weather", '{"city": "Huế"}', "c1")
    assert answer.thinking == SECRET
    assert answer.content == [{"type": "text", "text": "It is 31 degrees."}]
    for other in (question, thanks, welcome):
        assert not other.tool_calls
        assert not other.thinking


@pytest.mark.parametrize(
    "answer",
    [
        AIMessage("Hello.", id="a", additional_kwargs={"reasoning_content": "Hm."}),
        AIMessage("<think>Hm.</think>\n\nHello.", id="a"),
        AIMessage(
            [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
                {"type": "text", "text": "Hello."},
            ],
            id="a",
            additional_kwargs={"reasoning_content": "Hm."},
        ),
        AIMessage(
            [{"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "x"}}, "Hello."], id="a"
        ),
    ],
)
def test_thinking_is_told_from_what_is_said_in_the_forms_of_the_providers(answer: AIMessage) -> None:
    [record] = recorded(answer)
    assert record.thinking == "Hm."
    assert record.text == whole_text(record.to_value()) == "Hello."


@pytest.mark.parametrize("question", ["How warm is it in Huế?"])
async def test_an_agent_reads_what_it_thought_itself_and_no_other(question: str | None) -> None:
    store = InMemoryStore()
    one = turns(store, "a")
    await one.close(asked_and_answered(), None)
    await one.extract()
    for agent, thought in (("a", SECRET), ("b", None)):
        results = await one.memory.read(reading(agent, question))
        [answer] = [item.payload for item in results if item.payload.get("role") == "assistant"]
        assert answer.get("thinking") == thought
        assert answer["tool_calls"][0]["name"] == "weather"
        assert "bluebird" not in render_memories(results, 1_500).text
        known = one.memory.last_known(reading(agent, question))
        assert known is not None
        assert [item.payload.get("thinking") for item in known if "thinking" in item.payload] == [SECRET] * (
            thought is not None
        )
        context = await one.memory.dialog.get_context("ann", "of a", agent_id=agent)
        assert context.messages[-1].thinking == (thought or "")
    assert (await one.memory.dialog.get_context("ann", "of a")).messages[-1].thinking == ""


async def test_no_model_is_shown_it_behind_the_turn() -> None:
    store, shown = InMemoryStore(), Shown()
    one = turns(store, "a", shown)
    await one.close(asked_and_answered(), None)
    await one.extract()
    assert any("31 degrees" in text for text in shown.texts)
    assert "bluebird" not in " ".join(shown.texts)
    summaries = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), filter={"kind": "summary"}, limit=9)
    assert summaries
    assert "bluebird" not in str([item.value for item in summaries])


async def test_what_is_forgotten_is_forgotten_there_too() -> None:
    store = InMemoryStore()
    one = turns(store, "a")
    about = "I'm allergic to penicillin"
    thread = [
        HumanMessage(f"I live in Huế. {about}.", id="q"),
        AIMessage(
            "", id="c", tool_calls=[call("look_up", what="penicillin allergy"), call("weather", "c2", city="Huế")]
        ),
        AIMessage("<think>An allergy to penicillin, then.</think>All right.", id="a"),
    ]
    await one.close(thread, None)
    done = await forget_said(store, "ann", about)
    assert done.receipt.messages == 1
    assert done.receipt.problems == ()
    left = [item.value for item in await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=9)]
    assert "penicillin" not in str(left)
    [answer] = [value for value in left if value["role"] == "assistant"]
    assert [called["name"] for called in answer["tool_calls"]] == ["weather"]
    assert "thinking" not in answer


async def test_what_the_agent_forgets_in_a_turn_does_not_come_back_with_its_calls() -> None:
    store = InMemoryStore()
    one = turns(store, "a")
    forgets = call("forget", what="I live in Huế")
    thread = [
        HumanMessage("Forget that I live in Huế. I like tea.", id="q"),
        AIMessage("<think>They no longer live in Huế?</think>", id="c", tool_calls=[forgets]),
        ToolMessage("done", name="forget", tool_call_id="c1", id="r", artifact=["I live in Huế"]),
        AIMessage("Done.", id="a"),
    ]
    await one.close(thread, None)
    left = [item.value for item in await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=9)]
    assert "Huế" not in str(left)
    assert all({"tool_calls", "thinking"}.isdisjoint(value) for value in left)


BLOCKS: list[str | dict[str, Any]] = [
    {"type": "reasoning", "reasoning": SECRET},
    {"type": "text", "text": "It is 31 degrees."},
    call("weather", city="Huế"),
    {"type": "tool_use", "name": "clock", "input": {}, "id": "c2"},
]


@pytest.mark.parametrize("known", [{}, {"tool_calls": [call("weather", city="Huế")]}])
async def test_what_is_written_as_blocks_or_in_the_form_of_langchain_is_kept_in_its_fields(
    known: dict[str, Any],
) -> None:
    memory = MemoryFacade(InMemoryStore())
    said = {"id": "m", "role": "assistant", "text": "It is 31 degrees.", "turn": 0, "content": BLOCKS, **known}
    event = MemoryWriteEvent(user_id="ann", session_id="s", agent_id="a", scope=MemoryScope.DIALOG, data=said)
    await memory.write(event)
    context = await memory.dialog.get_context("ann", "s", agent_id="a")
    [record] = context.messages
    assert record.content == [{"type": "text", "text": "It is 31 degrees."}]
    assert [(one.name, one.arguments) for one in record.tool_calls] == [("weather", '{"city": "Huế"}'), ("clock", "{}")]
    assert record.thinking == SECRET
    wrong = event.model_copy(update={"data": {**said, "tool_calls": [{"name": "clock", "when": "now"}]}})
    with pytest.raises(ValueError, match=r"tool_calls\.0\.when: is no field there; leave it out"):
        await memory.write(wrong)


def test_both_are_bounded() -> None:
    [_, answer] = recorded(*asked_and_answered(thought="so " * 9_000 + "done", city="x" * 9_000))
    assert len(answer.tool_calls[0].arguments) == 2_000
    assert len(answer.thinking) == 4_000
    assert answer.thinking.endswith("so done")
    many = [AIMessage("", id=f"c{n}", tool_calls=[call("look", f"c{n}")]) for n in range(30)]
    [answer] = recorded(*many, AIMessage("Done.", id="a"))
    assert [called.id for called in answer.tool_calls] == [f"c{n}" for n in range(10, 30)]
