"""Forgetting one thing leaves nothing that was made of it, and the rest of what was said beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import (
    EpisodeDraft,
    ExistingMemory,
    Extraction,
    Operation,
    ProfileChange,
    TranscriptMessage,
)
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.rights.forgetting import forget_said
from react_mem.memory.write.conversations import end_conversation
from react_mem.memory.write.turns import Turns

ALLERGY = "I'm allergic to penicillin"
BOTH = f"I live in Hue. {ALLERGY}."


class Reader:
    """Draws all that can be drawn from what it is shown of penicillin, once the test lets it."""

    def __init__(self) -> None:
        self.shown = ""
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        self.shown = " ".join([*(message.text for message in messages), *(memory.text for memory in existing)])
        self.asked.set()
        await self.go_on.wait()
        told = [message.id for message in messages if message.role == "user" and ALLERGY in message.text]
        if not told:
            retold = "penicillin" in self.shown
            return Extraction(summary="Who cannot take penicillin asked for a doctor." if retold else "")
        sources = (told[0],)
        return Extraction(
            ops=(
                Operation("new", f"{ALLERGY}.", reading="User is allergic to penicillin.", source_ids=sources),
                Operation("new", "I live in Hue.", source_ids=sources),
            ),
            profile_changes=(
                ProfileChange("allergies", "penicillin", sources),
                ProfileChange("city", "Hue", sources),
            ),
            episode=EpisodeDraft("See a doctor", outcome="A penicillin allergy", steps=("noted penicillin",)),
            summary="They live in Hue and cannot take penicillin.",
        )


def turns(store: InMemoryStore, reader: Reader, session: str = "1") -> Turns:
    fields: Any = {"allergies": "what they are allergic to", "city": "where they live"}
    policy = MemoryPolicy.model_validate({"extraction": {"mode": "background"}, "profile": fields})
    return Turns(MemoryFacade(store, policy), reader, "ann", session, "tester")


async def say(one: Turns, *texts: str, steps: Sequence[dict[str, Any]] = ()) -> None:
    thread: list[BaseMessage] = []
    for number, text in enumerate(texts):
        thread += [HumanMessage(text, id=f"q{number}"), AIMessage("ok", id=f"a{number}")]
    since = f"a{len(texts) - 2}" if len(texts) > 1 else None
    await one.close(thread, since, steps)


async def everything(store: InMemoryStore) -> str:
    items = await store.asearch(("memory", "ann"), limit=100)
    return str([item.value for item in items])


async def test_nothing_that_was_made_of_it_is_left_though_its_message_says_more() -> None:
    store = InMemoryStore()
    one = turns(store, Reader())
    step = {"action": "look_up", "arguments": {"what": "allergic to penicillin"}, "observation": "", "error": ""}
    await say(one, BOTH, steps=[step])
    await one.extract()
    before = await everything(store)
    assert all(made in before for made in ("allergies", "outcome': 'A penicillin", "cannot take", "look_up"))

    assert (await forget_said(store, "ann", ALLERGY)).receipt.messages == 1

    assert "penicillin" not in await everything(store)
    profile = await one.memory.profile.get_profile("ann")
    assert profile is not None
    assert profile.text == "city: Hue"
    facts = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), filter={"kind": "fact"}, limit=10)
    assert [item.value["text"] for item in facts] == ["I live in Hue."]


async def test_a_field_that_the_user_only_assented_to_is_forgotten_too() -> None:
    store = InMemoryStore()
    one = turns(store, Reader())
    await say(one, BOTH)
    await one.extract()
    assented = [HumanMessage("Yes.", id="y")]
    [yes] = await one.memory.dialog.append("ann", "1", assented, agent_id="tester")
    await one.memory.profile.update_profile("ann", {"allergies": "penicillin"}, source_ids=[yes.id])
    await forget_said(store, "ann", ALLERGY)
    assert "penicillin" not in await everything(store)


@pytest.mark.parametrize("earlier", [BOTH, "I live in Hue."], ids=["shown before the turn", "shown as a memory"])
async def test_what_is_forgotten_while_a_later_turn_is_read_is_not_made_anew(earlier: str) -> None:
    store, reader = InMemoryStore(), Reader()
    one = turns(store, reader)
    await say(one, earlier)
    await one.extract()
    if earlier != BOTH:
        await one.memory.semantic.add(
            [{"text": "User is allergic to penicillin."}], user_id="ann", session_id="0", agent_id="tester"
        )
    await say(one, earlier, "Which doctor should I see?")
    reader.asked.clear()
    reader.go_on.clear()
    work = asyncio.create_task(one.extract())
    await reader.asked.wait()
    assert "penicillin" in reader.shown
    await forget_said(store, "ann", ALLERGY)
    reader.go_on.set()
    await work
    assert "penicillin" not in await everything(store)


async def test_what_is_forgotten_while_its_conversation_is_concluded_is_not_made_anew() -> None:
    store, reader = InMemoryStore(), Reader()
    one = turns(store, reader)
    await say(one, BOTH)
    await one.extract()
    reader.asked.clear()
    reader.go_on.clear()
    work = asyncio.create_task(end_conversation(one))
    await reader.asked.wait()
    await forget_said(store, "ann", ALLERGY)
    reader.go_on.set()
    await work
    assert "penicillin" not in await everything(store)
    # it stays open, and is concluded with what is left of it
    await end_conversation(one)
    assert "penicillin" not in await everything(store)


async def test_an_instruction_that_is_forgotten_does_not_stand_any_more() -> None:
    memory = MemoryFacade(InMemoryStore())
    said = [HumanMessage("I live in Hue. Always remind me of my penicillin allergy.", id="1")]
    await memory.dialog.append("ann", "s", said, agent_id="a")
    assert len(await memory.dialog.standing("ann")) == 1
    await forget_said(memory.store, "ann", "Always remind me of my penicillin allergy.")
    assert await memory.dialog.standing("ann") == []
    [left] = await memory.dialog.every("ann")
    assert (left["text"], "standing" in left) == ("I live in Hue.", False)


@pytest.mark.parametrize(
    ("said", "request_", "rest"),
    [
        ("I live in Hue and like iced coffee.", "I like iced coffee", "I live in Hue"),
        ("I live in Hue and like iced coffee.", "I live in Hue", "I … like iced coffee"),
        ("I have a dog called Rex and a cat called Mimi.", "I have a cat called Mimi", "I have a dog called Rex"),
        ("Mình sống ở Huế và thích cà phê đá.", "mình thích cà phê đá", "Mình sống ở Huế"),
        ("Ich wohne in Hue und mag Eiskaffee.", "ich Eiskaffee mag", "Ich wohne in Hue"),
        ("Vivo en Hue y me gusta el café helado.", "me gusta el café helado", "Vivo en Hue"),
        ("我住在顺化也喜欢冰咖啡。", "我喜欢冰咖啡", "我住在顺化"),
        ("フエに住んでいてアイスコーヒーが好きです。", "アイスコーヒーが好き", "フエに住んでいて"),
        ("I love green tea.", "I love tea", None),
    ],
)
async def test_the_rest_of_a_clause_stays_when_a_part_of_it_is_forgotten(
    said: str, request_: str, rest: str | None
) -> None:
    store = InMemoryStore()
    one = Turns(MemoryFacade(store), None, "ann", "1", "tester")
    await say(one, said)
    await one.extract()
    assert (await forget_said(store, "ann", request_)).texts
    items = await store.asearch(("memory", "ann"), limit=100)
    told = [item.value["text"] for item in items if item.value.get("kind") == "fact"]
    told += [item.value["text"] for item in items if item.value.get("role") == "user"]
    assert [text.rstrip(".。也") for text in told] == ([rest, rest] if rest else [])
