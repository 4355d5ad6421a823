"""Whatever is edited, continued and trimmed, in whatever order: believed is what the branch that is followed says."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.reconcile import reconcile
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Extraction, Operation, ProfileChange
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Fact, Message
from react_mem.memory.store.attachments import refs_in, sizes
from react_mem.memory.store.capabilities import everything, set_aside
from react_mem.memory.write.turns import Turns
from tests.support.saying import said_on

START = datetime(2026, 1, 1, tzinfo=UTC)
NO_MORE, ONCE = "I no longer like tea", "I once lived in Hue"
SHOWN = "(a picture, and no word)"
THINGS = ["I live in Hue", "I live in Hanoi", "I live in Saigon", "I like tea", "I like dogs", NO_MORE, ONCE, SHOWN]


def operation(thing: str, source: str, known: Mapping[str, str]) -> Operation | None:
    """Return what a model makes of a message: one lives in one place, and no longer liking is an end.

    Args:
        thing: What it says.
        source: The message.
        known: What is believed, with the ids.
    """
    if thing == NO_MORE:
        target = known.get("I like tea")
        return Operation("ends", "", target_id=target, quote=thing, source_ids=(source,)) if target else None
    if thing == ONCE:
        return Operation("new", thing, source_ids=(source,), valid_to=START - timedelta(days=400))
    home = next((id_ for text, id_ in known.items() if text.startswith("I live in") and text != thing), None)
    changes = thing.startswith("I live in") and home is not None
    return Operation("changes" if changes else "new", thing, target_id=home if changes else None, source_ids=(source,))


def after(known: Mapping[str, str], one: Operation) -> dict[str, str]:
    """Return what is believed once a model has read a message, for the next one of the same call."""
    rest = {text: id_ for text, id_ in known.items() if id_ != one.target_id}
    return {**rest, one.text: one.id} if one.text not in ("", ONCE) else rest


class Reader:
    """Draws exactly what a message says, as `operation` has it."""

    async def extract(self, messages: Sequence[Any], existing: Sequence[Any], **_: Any) -> Extraction:
        said = [message for message in messages if message.role == "user" and not message.context]
        known = {memory.text: memory.id for memory in existing}
        drawn = []
        # a model names each field once, with all the messages that say it
        fields: dict[str, tuple[str, ...]] = {}
        for message in said:
            fields[message.text] = (*fields.get(message.text, ()), message.id)
            one = operation(message.text, message.id, known)
            if one is not None:
                drawn.append(one)
                known = after(known, one)
        return Extraction(
            ops=tuple(drawn),
            profile_changes=tuple(ProfileChange(text, text, sources) for text, sources in fields.items()),
        )


@dataclass(frozen=True)
class Place:
    """A checkpoint: what the thread holds, what was said on the way to it, and up to where memory had it."""

    thread: tuple[BaseMessage, ...]
    path: tuple[tuple[str, str], ...]
    since: str | None


class World:
    """One thread with its checkpoints, and what a model of memory says should be believed."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        memory = MemoryFacade(self.store, MemoryPolicy(extraction={"mode": "inline"}, recall={"timeout": 60}))
        self.turns = Turns(memory, Reader(), "ann", "1", "tester")  # type: ignore[arg-type]
        self.places = [Place((), (), None)]
        self.said: dict[str, Message] = {}

    async def say(self, place: Place, thing: str, *, drawn: bool) -> None:
        number = len(self.said)
        at = START + timedelta(days=number)
        content: list[str | dict[str, Any]] = [{"type": "text", "text": thing}] if thing != SHOWN else []
        # the same pictures again and again, so that messages of several branches show one
        content.append({"type": "image", "base64": b64encode(b"%d" % (number % 3)).decode()})
        asked = HumanMessage(content, id=f"q{number}", additional_kwargs={"said_at": at.isoformat()})
        thread = [*place.thread, asked]
        query = MemoryQuery(user_id="ann", session_id="1", agent_id="tester", scopes=[MemoryScope.SEMANTIC])
        found, _ = await asyncio.gather(self.turns.memory.read(query), self.turns.open(thread, place.since))
        await self.turns.branches.follow_thread(thread, place.since, found, {})
        thread.append(AIMessage("ok", id=f"a{number}"))
        await self.turns.close(thread, asked.id)
        if drawn:
            await self.turns.extract()
        id_ = f"m{number}"
        self.said[id_] = said_on(at, thing)
        told = () if thing == SHOWN else ((id_, thing),)
        self.places.append(Place(tuple(thread), (*place.path, *told), thread[-1].id))

    async def shown(self) -> set[str]:
        """Return what is attached to the messages of all branches."""
        items = [*await everything(self.store, "ann"), *await set_aside(self.store, "ann")]
        return {ref for item in items for ref in refs_in(item.value)}

    async def facts(self) -> list[Fact]:
        found = await self.store.asearch(
            scope_namespace("ann", MemoryScope.SEMANTIC), filter={"kind": "fact"}, limit=1000
        )
        return [Fact.from_value(item.value) for item in found]

    async def believed(self) -> list[str]:
        while (await self.turns.extract()).waiting:
            pass
        return sorted(fact.text for fact in await self.facts() if fact.current)

    def expected(self, place: Place) -> list[str]:
        """Return what is believed of one who said nothing but what is on the path."""
        facts: dict[str, Fact] = {}
        for id_, thing in place.path:
            one = operation(thing, id_, {fact.text: fact.id for fact in facts.values() if fact.current})
            if one is not None:
                changed = reconcile([one], facts, at=START, session_id="1", agent_id="tester", said=self.said)
                facts |= {fact.id: fact for fact in changed}
        return sorted(fact.text for fact in facts.values() if fact.current)


Step = tuple[str, int, str, bool]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["on", "on", "fork", "trim"]), st.integers(0, 20), st.sampled_from(THINGS), st.booleans()
    ),
    min_size=1,
    max_size=8,
)


HUE, HANOI = THINGS[:2]


# what is drawn once more from the message before a turn, which the model is shown, is no younger than the turn
@example([("on", 0, "I like tea", False), ("on", 0, NO_MORE, True), ("trim", 3, "I like tea", False)])
# what is read together is read in the order in which it was said, though a trimmed thread counts its places anew
@example(
    [
        ("on", 0, HUE, False),
        ("on", 0, HANOI, False),
        ("trim", 5, HUE, False),
        ("on", 0, HUE, False),
        ("on", 0, HANOI, False),
    ]
)
# a fact that took back its own place is not ended by itself once what stood between is left
@example([("on", 0, HUE, False), ("on", 0, HANOI, False), ("on", 0, HUE, True), ("fork", 1, "I like tea", False)])
# nor is a fact ended by one that was said only before it on the branch that is followed
@example([*[("on", 0, HUE, False)] * 2, ("on", 0, HANOI, False), ("on", 0, HUE, True), ("fork", 3, THINGS[3], False)])
@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_what_is_believed_is_what_the_branch_that_is_followed_says(steps: list[Step]) -> None:
    async def run() -> None:
        world = World()
        await world.say(world.places[0], "I like rice", drawn=True)
        for kind, which, thing, drawn in steps:
            place = world.places[-1]
            if kind == "fork":
                # any checkpoint but the empty one, the end of a branch that was left among them
                place = world.places[1 + which % (len(world.places) - 1)]
            elif kind == "trim":
                place = replace(place, thread=place.thread[which % (len(place.thread) + 1) :])
            await world.say(place, thing, drawn=drawn)
        assert await world.believed() == world.expected(world.places[-1])
        profile = await world.turns.memory.profile.get_profile("ann")
        assert profile is not None
        assert set(profile.fields) == {thing for _, thing in world.places[-1].path}
        for fact in await world.facts():
            assert fact.current or fact.retired_at or not fact.source_ids or fact.text == ONCE
        memory = world.turns.memory
        assert await world.shown() == set(await sizes(world.store, "ann"))
        [one, *_] = (value["id"] for value in await memory.dialog.every("ann", kind="message", role="user"))
        await memory.forget("ann", one)
        assert await world.shown() == set(await sizes(world.store, "ann"))
        await memory.delete_session("ann", "1")
        assert await sizes(world.store, "ann") == {}

    asyncio.run(run())
