"""What an owner is shown: page by page, one memory with all that explains it, and what they tell memory itself."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.concept_store import refresh_concepts
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.operations import Operation, delete, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message, now
from react_mem.memory.model.states import TurnOutcome
from react_mem.memory.model.views import MemoryPage
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.remembering import remember
from tests.integration.memory.test_scopes import fill
from tests.support.telling import tell

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def fact(text: str, at: datetime = START, **more: Any) -> Fact:
    given: dict[str, Any] = {"session_id": "monday", "agent_id": "assistant", "said_at": at, **more}
    return Fact(id=more.pop("id", str(uuid.uuid4())), text=text, created_at=at, **given)


async def store_facts(memory: MemoryFacade, *facts: Fact | Message, user_id: str = "ann") -> None:
    await memory.apply([put(user_id, one, indexed=False) for one in facts])


async def all_pages(memory: MemoryFacade, limit: int, user_id: str = "ann", **chosen: Any) -> list[MemoryPage]:
    pages = [await memory.page(user_id, limit=limit, **chosen)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(await memory.page(user_id, limit=limit, cursor=cursor, **chosen))
    return pages


def texts(pages: list[MemoryPage]) -> list[str]:
    return [item.text for page in pages for item in page.items]


class TestPages:
    async def test_they_have_everything_once_and_the_latest_first(self, memory: MemoryFacade) -> None:
        # some at the same moment, some in another zone, some without fractions
        zone = datetime.fromisoformat("2026-03-01T10:00:00+07:00")
        times = [START, START, START, zone, START + timedelta(microseconds=1), START - timedelta(days=40)]
        await store_facts(memory, *(fact(f"fact {n} 🍵 trà", at) for n, at in enumerate(times)))
        await fill(memory, "bob", "beer")
        pages = await all_pages(memory, 2)
        assert [len(page.items) for page in pages] == [2, 2, 2]
        assert {page.total for page in pages} == {6}
        assert sorted(texts(pages)) == [f"fact {n} 🍵 trà" for n in range(6)]
        assert texts(pages)[0] == "fact 4 🍵 trà"
        assert texts(pages)[-2:] == ["fact 3 🍵 trà", "fact 5 🍵 trà"]
        assert texts(await all_pages(memory, 200)) == texts(pages)

    async def test_topics_are_told_where_they_are_asked_for_and_each_is_a_filter(self, memory: MemoryFacade) -> None:
        home = [f"I have a flat in {place}." for place in ("Hue", "Hue near the river", "Lisbon")]
        for text in (*home, "I prefer a cool climate.", "My lungs need the cool climate."):
            await tell(memory.store, text)
        await tell(memory.store, "Lan lives in Hue.", about="Lan")
        await tell(memory.store, "My flat in Hue is dry.", user_id="bob")
        await refresh_concepts(memory.store, "ann")
        page = await memory.page("ann", kinds=["fact"], limit=200, with_topics=True)
        assert page.topics[:2] == ["Hue", "cool climate"]
        assert "Lisbon" not in page.topics
        # it costs the names of all that is remembered: nobody else is told
        assert (await memory.page("ann", kinds=["fact"])).topics == []
        pages = await all_pages(memory, 2, kinds=["fact"], topic="hue")
        assert sorted(texts(pages)) == sorted([*home[:2], "Lan lives in Hue."])
        assert {one.total for one in pages} == {3}
        assert (await memory.page("ann", topic="Oslo")).total == 0

    async def test_they_are_of_the_days_that_are_asked_for(self, memory: MemoryFacade) -> None:
        await store_facts(memory, *(fact(f"fact {n}", START + timedelta(days=n)) for n in range(5)))
        east = timezone(timedelta(hours=7))
        asked = {"since": START + timedelta(days=1), "before": (START + timedelta(days=3)).astimezone(east)}
        pages = await all_pages(memory, 1, **asked)
        assert (texts(pages), {page.total for page in pages}) == (["fact 2", "fact 1"], {2})

    async def test_writes_between_them_repeat_and_hide_nothing(self, memory: MemoryFacade) -> None:
        facts = [fact(f"fact {n}", START + timedelta(minutes=n)) for n in range(9)]
        await store_facts(memory, *facts)
        first = await memory.page("ann", limit=3)
        # the latest write comes first in the store's own order; one is new, one is gone
        await store_facts(memory, facts[2].model_copy(update={"importance": 0.9}), fact("new", now()))
        await memory.apply([delete("ann", FACT, facts[4].id)])
        second = await memory.page("ann", limit=3, cursor=first.next_cursor or "")
        await store_facts(memory, facts[8].model_copy(update={"importance": 0.9}))
        third = await memory.page("ann", limit=3, cursor=second.next_cursor or "")
        assert texts([first, second, third]) == [f"fact {n}" for n in (8, 7, 6, 5, 3, 2, 1, 0)]
        assert third.next_cursor is None
        assert first.revision != second.revision != third.revision

    async def test_they_have_what_is_asked_for(self, memory: MemoryFacade) -> None:
        past: dict[str, Any] = {"current": False, "retired_at": START}
        over: dict[str, Any] = {"valid_to": START + timedelta(days=1)}
        await store_facts(
            memory,
            fact("believed"),
            fact("of tuesday", session_id="tuesday", origin=Origin.IMPORT),
            fact("ended", **past),
            fact("over by now", **over),
            fact("still to be over", valid_to=now() + timedelta(days=9)),
            Message(id="m", text="said", content="said", role="user", turn=0, session_id="monday", agent_id="a"),
        )
        await memory.apply(
            [put("ann", TurnOutcome(id="o", text="", turn_id="t", success=True, session_id="monday", agent_id="a"))]
        )

        async def listed(**chosen: Any) -> set[str]:
            return set(texts(await all_pages(memory, 2, **chosen)))

        believed = {"believed", "of tuesday", "still to be over"}
        assert await listed() == {*believed, "said"}
        assert await listed(scopes=[MemoryScope.SEMANTIC]) == believed
        assert await listed(kinds=["message"]) == {"said"}
        assert await listed(state="past") == {"ended", "over by now"}
        assert await listed(state="all", kinds=["fact"]) == {*believed, "ended", "over by now"}
        assert await listed(session_id="tuesday") == {"of tuesday"}
        assert await listed(origins=["import"]) == {"of tuesday"}
        assert await listed(session_id="never") == set()
        # what memory writes for itself is there for who asks for its scope
        assert len((await memory.page("ann", scopes=[MemoryScope.EXPERIENCE])).items) == 1
        assert not (await memory.page("ann", state="past", limit=1)).items[0].current

    async def test_the_cursor_of_somebody_else_shows_what_is_ones_own(self, memory: MemoryFacade) -> None:
        await store_facts(memory, *(fact(f"ann {n}", START + timedelta(days=n)) for n in range(3)))
        await store_facts(memory, *(fact(f"bob {n}", START + timedelta(days=n)) for n in range(3)), user_id="bob")
        anns = await memory.page("ann", limit=1)
        page = await memory.page("bob", cursor=anns.next_cursor or "")
        assert {item.text[:3] for item in page.items} == {"bob"}


class TestRevisions:
    async def test_it_changes_with_every_write_and_with_nobody_elses(self, memory: MemoryFacade) -> None:
        seen = [await memory.revision("ann")]
        said = fact("I like tea")
        for change in (
            put("ann", said),
            put("ann", said.model_copy(update={"importance": 0.9})),
            delete("ann", FACT, said.id),
        ):
            await memory.apply([change])
            seen.append(await memory.revision("ann"))
        before = await memory.revision("ann")
        await fill(memory, "bob", "beer")
        assert await memory.revision("ann") == before
        if isinstance(memory.store, MemoryStore):
            assert all(one != other for one, other in pairwise(seen))
        assert await memory.revision("nobody") == await memory.revision("nobody")


class TestExplaining:
    async def test_a_fact_tells_its_history_its_messages_and_its_uses(self, memory: MemoryFacade) -> None:
        for n, city in enumerate(("Huế", "Đà Nẵng", "北京")):
            said = HumanMessage(f"Hi 🙂! I live in {city}.", id=f"q{n}")
            [message] = await memory.dialog.append("ann", "monday", [said], agent_id="assistant")
            known = [one for one in await memory.semantic.history(user_id="ann") if one.current]
            moved = Operation(
                "changes",
                f"I live in {city}.",
                target_id=known[0].id if known else None,
                source_ids=(message.id,),
            )
            await write_facts(
                memory.store,
                "ann",
                [moved],
                at=now(),
                session_id="monday",
                agent_id="assistant",
                said={message.id: message},
            )
        facts = {one.text: one for one in await memory.semantic.history(user_id="ann")}
        middle = facts["I live in Đà Nẵng."]
        [answer] = await memory.dialog.append("ann", "monday", [AIMessage("Đà Nẵng!", id="a1")], agent_id="assistant")
        await memory.apply([put("ann", answer.model_copy(update={"used": (middle.id,)}))])
        detail = await memory.explain("ann", middle.id)
        assert detail is not None
        assert [(one.text, one.why) for one in detail.history] == [
            ("I live in Huế.", "replaced"),
            ("I live in Đà Nẵng.", "replaced"),
            ("I live in 北京.", "believed"),
        ]
        assert detail.history[0].until == detail.history[1].since or detail.history[0].until is not None
        [source] = detail.provenance
        assert (source.session_id, source.turn, source.role) == ("monday", 1, "user")
        assert (source.text, source.quote) == ("Hi 🙂! I live in Đà Nẵng.", "I live in Đà Nẵng.")
        assert [(use.session_id, use.message_id) for use in detail.used] == [("monday", answer.id)]
        assert not detail.memory.current
        assert detail.memory.until is not None
        related = {(link.relation, link.direction): link.memory.text for link in detail.links}
        assert related["timeline", "out"] == "I live in 北京."
        its_message = await memory.explain("ann", source.id)
        assert its_message is not None
        assert [item.text for item in its_message.derived] == ["I live in Đà Nẵng."]
        assert await memory.explain("bob", middle.id) is None
        assert await memory.explain("ann", "nothing") is None


class TestRemembering:
    async def test_what_has_ended_is_believed_again(self, memory: MemoryFacade) -> None:
        [first] = (await remember(memory, "ann", "I live in Hue.")).memories
        corrected = await memory.correct("ann", first.id, "I live in Da Nang.")
        assert corrected.current
        told = await remember(memory, "ann", "I live in Hue.")
        assert told.new == {first.id}
        assert told.memories[0].current
        detail = await memory.explain("ann", first.id)
        assert detail is not None
        assert [one.why for one in detail.history if one.text == "I live in Hue."] == ["set aside", "believed"]
