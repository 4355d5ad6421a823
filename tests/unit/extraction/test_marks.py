"""What an extraction marks messages with: what stands from now on, and words to find them by that nobody said."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import Arm, MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.retrieval.results import ASKS_STANDING, INSTRUCTION
from react_mem.memory.write.extraction.structured import create_extractor
from react_mem.memory.write.turns import Turns
from tests.support.labels import NOTHING, fact, other, proposal
from tests.support.scripted_model import ScriptedModel
from tests.unit.extraction.judging import judged

HAIKU = "Answers as haiku are what I want to read here."


async def told(*turns: tuple[str, dict[str, Any]], topics: bool = False) -> MemoryFacade:
    """Return a memory of turns, of each of which a model says something."""
    policy = {"extraction": {"mode": "inline", "topics": topics}, "summaries": {"enabled": False}}
    memory = MemoryFacade(InMemoryStore(), MemoryPolicy.model_validate(policy))
    model = ScriptedModel(script=[json.dumps(answer) for _, answer in turns])
    talk = Turns(memory, create_extractor("structured", [model], topics=topics), "ann", "talk", "tester")
    thread: list[Any] = []
    for number, (said, _) in enumerate(turns):
        known = thread[-1].id if thread else None
        thread += [HumanMessage(said, id=f"q{number}"), AIMessage("OK.", id=f"a{number}")]
        await talk.close(thread, known)
        await talk.extract()
    return memory


async def read(memory: MemoryFacade, question: str, scope: MemoryScope) -> list[Any]:
    asked = {"user_id": "ann", "session_id": "new", "agent_id": "tester", "scopes": [scope], "query": question}
    return await memory.read(MemoryQuery.model_validate({**asked, "extra": {ASKS_STANDING: True}}))


async def standing(memory: MemoryFacade) -> list[str]:
    found = await memory.dialog.every("ann", kind="message", role="user")
    return [value["text"] for value in found if value.get("standing")]


async def test_a_model_sees_what_stands_without_any_cue() -> None:
    assert await standing(await told((HAIKU, NOTHING))) == []
    memory = await told((HAIKU, proposal(others=[other(1, "standing")])))
    assert await standing(memory) == [HAIKU]
    found = await read(memory, "Which answers do I want to read, haiku?", MemoryScope.DIALOG)
    assert [item.fragments[0].content for item in found if item.source == INSTRUCTION] == [HAIKU]


async def test_what_the_user_takes_back_no_longer_stands() -> None:
    first = "Always answer in Vietnamese."
    memory = await told(
        (first, proposal(facts=[fact(1, text="User wants answers in Vietnamese.")])),
        ("I moved to Hue.", proposal(facts=[fact(1, text="User moved to Hue.")])),
        ("I no longer need answers in Vietnamese.", proposal(facts=[fact(1, rel="ends", target="f1")])),
    )
    assert await standing(memory) == []


def test_a_question_does_not_stand() -> None:
    assert judged("Do you rhyme?", proposal(others=[other(1, "standing")])).standing == ()


BEAGLE = "We got a beagle called Bo last week."
TOPICAL = proposal(facts=[{**fact(1, text="User got a beagle called Bo."), "topic": "dog pet animal beagle Bo"}])


async def test_a_message_and_its_fact_are_found_by_what_they_are_about() -> None:
    memory = await told((BEAGLE, TOPICAL), topics=True)
    for scope in (MemoryScope.SEMANTIC, MemoryScope.DIALOG):
        found, *_ = await read(memory, "dog", scope)
        assert found.arms[Arm.LEXICAL] > 0
        # for the index only
        assert "dog" not in found.payload["text"]
        assert "dog" not in str(found.fragments)
        assert set(found.payload["keywords"].split()) == {"dog", "pet", "animal"}


async def test_the_words_are_forgotten_with_the_message() -> None:
    memory = await told((BEAGLE, TOPICAL), topics=True)
    await memory.forget_said("ann", "beagle")
    kept = [item.payload for item in await memory.list_records("ann", [MemoryScope.SEMANTIC, MemoryScope.DIALOG])]
    assert not any("dog" in str(value) for value in kept)
