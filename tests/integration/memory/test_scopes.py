"""The facade and its seven scopes, the same over every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.files import AgentFile
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.operations import Operation, put, write
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.profile_schema import ProfileValue
from react_mem.memory.model.records import now
from react_mem.memory.model.states import Skill
from react_mem.memory.reflect.skill_learner import record_turn
from react_mem.memory.scopes import steps_to_experience
from tests.integration.memory.conftest import Open, every_store
from tests.support.retiring import retire

store = every_store

HERE = {"session_id": "monday", "agent_id": "assistant"}
ANN: dict[str, Any] = {"user_id": "ann", **HERE}
BOB: dict[str, Any] = {"user_id": "bob", **HERE}


def query(*scopes: MemoryScope, user_id: str = "ann", text: str | None = None, **more: Any) -> MemoryQuery:
    return MemoryQuery(user_id=user_id, **HERE, scopes=list(scopes), query=text, **more)


def event(scope: MemoryScope, user_id: str = "ann", **data: Any) -> MemoryWriteEvent:
    return MemoryWriteEvent(user_id=user_id, **HERE, scope=scope, data=data)


def texts(items: list[MemoryResultItem]) -> list[str]:
    return [item.payload["text"] for item in items]


async def fill(memory: MemoryFacade, user_id: str, word: str) -> None:
    """Put something that says `word` into every scope."""
    who: dict[str, Any] = {"user_id": user_id, **HERE}
    said = [HumanMessage(f"I like {word}", id=f"{word}-1"), AIMessage(f"{word}, noted", id=f"{word}-2")]
    await memory.dialog.append(user_id, "monday", said, agent_id="assistant")
    await memory.state.save_state("trip", "monday", {"about": word}, user_id=user_id, agent_id="assistant")
    await memory.semantic.add([f"User likes {word}"], **who)
    await memory.semantic.add_documents([LangChainDocument(f"All about {word}")], user_id=user_id)
    await memory.episodic.record(f"Buy {word}", outcome="bought", **who)
    await memory.procedural.add_skill({"use_when": f"buying {word}", "task_type": "shop"}, user_id=user_id)
    await memory.profile.update_profile(user_id, {"favourite": word})
    await memory.experience.log_step({"task_type": "shop", "tool": "buy", "input": {"what": word}}, **who)
    file = AgentFile(path="/notes.md", text=f"Notes about {word}", session_id="monday", agent_id="assistant")
    await write(memory.store, [put(user_id, file)])


async def test_one_read_returns_every_scope_and_nothing_of_another_owner(memory: MemoryFacade) -> None:
    await fill(memory, "ann", "tea")
    await fill(memory, "bob", "coffee")
    everything = query(*MemoryScope, text="tea coffee", flow_id="trip", task_type="shop")
    found = await memory.read(everything)
    assert list(dict.fromkeys(item.scope for item in found)) == list(MemoryScope)
    assert {item.source for item in found} >= {"message", "state", "fact", "document", "episode", "skill", "profile"}
    assert "coffee" not in str(found)
    assert "tea" not in str(await memory.read(everything.model_copy(update={"user_id": "bob"})))
    assert await memory.read(everything.model_copy(update={"user_id": "an"})) == []


async def test_a_policy_turns_scopes_off_and_bounds_what_they_return(open_memory: Open) -> None:
    await fill(open_memory(), "ann", "tea")
    for number in range(4):
        await open_memory().semantic.add([f"User likes tea number {number}"], **ANN)
        await open_memory().semantic.add_documents([LangChainDocument(f"tea document {number}")], user_id="ann")
        await open_memory().procedural.add_skill({"use_when": f"making tea {number}"}, user_id="ann")
    off = open_memory(
        recall={"dialog": False, "semantic": False, "episodic": False, "procedural": False, "profile": False}
    )
    found = await off.read(query(*MemoryScope, text="tea"))
    assert {item.scope for item in found} == {MemoryScope.EXPERIENCE, MemoryScope.FILES}
    few = open_memory(recall={"max_memories": 3, "max_docs": 2, "max_skills": 1})
    found = await few.read(query(MemoryScope.SEMANTIC, MemoryScope.PROCEDURAL, text="tea"))
    assert [item.source for item in found].count("fact") == 3
    assert [item.source for item in found].count("document") == 2
    assert [item.source for item in found].count("skill") == 1
    scores = [item.score for item in found if item.scope is MemoryScope.SEMANTIC and item.score is not None]
    assert scores == sorted(scores, reverse=True)


async def test_what_the_caller_has_already_crowds_out_nothing(open_memory: Open) -> None:
    memory = open_memory(recall={"max_memories": 2})
    said = [HumanMessage(f"green tea {number}", id=str(number)) for number in range(6)]
    stored = await memory.dialog.append("ann", "monday", said, agent_id="assistant")
    seen = [message.id for message in stored[:4]]
    found = await memory.read(query(MemoryScope.DIALOG, text="green tea", extra={"seen": seen}))
    assert sorted(texts(found)) == ["green tea 4", "green tea 5"]


class TestDialog:
    async def test_context_is_the_latest_turns_in_order_and_the_summary(self, memory: MemoryFacade) -> None:
        for number in range(5):
            said = [
                HumanMessage(f"question {number}", id=f"q{number}"),
                AIMessage("", id=f"c{number}", tool_calls=[{"name": "t", "args": {}, "id": "1"}]),
                ToolMessage("result", id=f"t{number}", tool_call_id="1"),
                AIMessage(f"answer {number}", id=f"a{number}"),
            ]
            await memory.dialog.append("ann", "monday", said, agent_id="assistant")
        await memory.dialog.append("ann", "tuesday", [HumanMessage("elsewhere", id="q9")], agent_id="assistant")
        await memory.dialog.update_summary("ann", "monday", "first wording", agent_id="assistant")
        await memory.dialog.update_summary("ann", "monday", "five questions", agent_id="assistant")
        context = await memory.dialog.get_context("ann", "monday", limit_turns=2)
        assert [m.text for m in context.messages] == ["question 3", "answer 3", "question 4", "answer 4"]
        assert context.summary is not None
        assert context.summary.text == "five questions"
        assert len((await memory.dialog.get_context("ann", "monday")).messages) == 10
        assert (await memory.dialog.get_context("bob", "monday")).messages == []


class TestState:
    async def test_a_state_is_replaced_and_belongs_to_flow_conversation_and_owner(self, memory: MemoryFacade) -> None:
        assert await memory.state.get_state("trip", "monday", user_id="ann") is None
        for state in ({"step": 1}, {"step": 2, "open": ["hotel"]}):
            await memory.state.save_state("trip", "monday", state, user_id="ann", agent_id="assistant")
        assert await memory.state.get_state("trip", "monday", user_id="ann") == {"step": 2, "open": ["hotel"]}
        assert await memory.state.get_state("trip", "tuesday", user_id="ann") is None
        assert await memory.state.get_state("trip", "monday", user_id="bob") is None
        [item] = await memory.read(query(MemoryScope.STATE, flow_id="trip"))
        assert item.payload["state"] == {"step": 2, "open": ["hotel"]}

    async def test_a_task_step_has_one_status(self, memory: MemoryFacade) -> None:
        await memory.state.log_task_step("t1", "book a hotel", "running", **ANN)
        await memory.state.log_task_step("t1", "buy a ticket", "pending", **ANN)
        await memory.state.log_task_step("t1", "Book a hotel.", "failed", "no room", **ANN)
        steps = await memory.state.task_steps("t1", user_id="ann", session_id="monday")
        assert [(step.status, step.error) for step in steps] == [("failed", "no room"), ("pending", "")]
        with pytest.raises(ValueError, match="status: input should be 'pending'"):
            await memory.state.log_task_step("t1", "x", "almost", **ANN)  # type: ignore[arg-type]


class TestSemantic:
    async def test_a_fact_in_the_same_words_is_one_and_contradicts_nothing(self, memory: MemoryFacade) -> None:
        for room in (3, 4):
            await memory.semantic.add([f"Room {room} has a projector"], **ANN)
        [again] = await memory.semantic.add([{"text": "room 3 has a projector.", "source_ids": ["m1"]}], **ANN)
        found = await memory.semantic.search("projector", user_id="ann")
        assert sorted(texts(found)) == ["Room 3 has a projector", "Room 4 has a projector"]
        assert (again.text, again.source_ids, again.origin) == ("Room 3 has a projector", ("m1",), Origin.IMPORT)
        [more] = await memory.semantic.add([{"text": "Room 3 has a projector", "source_ids": ["m2"]}], **ANN)
        # support counts what the user says
        assert (more.id, more.support, more.source_ids) == (again.id, 1, ("m1", "m2"))

    async def test_the_same_words_about_another_are_another_fact(self, memory: MemoryFacade) -> None:
        await memory.semantic.add(["is allergic to nuts", {"text": "is allergic to nuts", "about": "Linh"}], **ANN)
        former = {"subject": "Bình", "predicate": "is", "object": "a nurse", "text": "Bình is a nurse"}
        await memory.semantic.add([former, {**former, "subject": "User", "text": "I am a nurse"}], **ANN)

        async def told(about: str) -> list[str]:
            return sorted(fact.text for fact in await memory.semantic.history(user_id="ann", about=about))

        assert await told("user") == ["I am a nurse", "is allergic to nuts"]
        assert await told("linh") == ["is allergic to nuts"]
        assert await told("Bình") == ["Bình is a nurse"]
        assert await memory.semantic.history(user_id="bob", about="Linh") == []
        [found] = await memory.semantic.search("", {"about": "Linh"}, user_id="ann")
        assert found.payload["text"] == "is allergic to nuts"

    async def test_what_depends_on_a_retired_fact_is_in_doubt(self, memory: MemoryFacade) -> None:
        [job] = await memory.semantic.add(["I work in Hue"], **ANN)
        needing = Operation("new", "I take the 7:30 train", needs=(job.id,))
        await write_facts(memory.store, "ann", [needing], at=now(), session_id="monday", agent_id="assistant")
        await retire(memory, job.id)
        [train] = await memory.semantic.search("train", user_id="ann")
        assert train.payload["doubts"] == [job.id]

    async def test_documents_are_found_beside_facts_and_by_filter(self, memory: MemoryFacade) -> None:
        await memory.semantic.add(["User likes green tea"], **ANN)
        doc = LangChainDocument("How to brew green tea", metadata={"source": "tea.md", "title": "Tea", "page": 3})
        for _ in range(2):
            await memory.semantic.add_documents([doc], user_id="ann")
        found = await memory.semantic.search("green tea", user_id="ann")
        assert sorted(item.source for item in found) == ["document", "fact"]
        [only] = await memory.semantic.search("green tea", {"kind": "document"}, user_id="ann")
        assert (only.payload["uri"], only.payload["title"], only.payload["metadata"]) == ("tea.md", "Tea", {"page": 3})
        assert len(await memory.semantic.search("green tea", top_k=1, user_id="ann")) == 1


class TestEpisodicAndProcedural:
    async def test_the_nearest_episode_comes_first(self, memory: MemoryFacade) -> None:
        await memory.episodic.record("Book a hotel in Huế", outcome="booked", lessons=["call early"], **ANN)
        await memory.episodic.record("Fix the printer", outcome="gave up", **ANN)
        first, second = await memory.episodic.recall("a hotel in Huế", user_id="ann")
        assert first.payload["lessons"] == ["call early"]
        assert second.payload["goal"] == "Fix the printer"
        await memory.episodic.record("Fix the printer", outcome="it was the cable", **ANN)
        assert len(await memory.episodic.recall("", 10, user_id="ann")) == 2

    async def test_an_episode_told_again_is_the_same_with_more_behind_it(self, memory: MemoryFacade) -> None:
        await memory.episodic.record("Book a hotel in Huế", outcome="full", lessons=["call early"], **ANN)
        again = {**ANN, "session_id": "later", "source_ids": ["m2"]}
        await memory.episodic.record("Booking the hotel in Huế", outcome="booked", lessons=["pay by card"], **again)
        await memory.episodic.record("Book a hotel in Hội An", outcome="booked", **ANN)
        found = {item.payload["goal"]: item.payload for item in await memory.episodic.recall("", 10, user_id="ann")}
        assert set(found) == {"Book a hotel in Huế", "Book a hotel in Hội An"}
        told = found["Book a hotel in Huế"]
        assert (told["outcome"], told["lessons"]) == ("booked", ["call early", "pay by card"])
        assert told["source_ids"] == ["m2"]
        # another owner's is another one
        other = await memory.episodic.record("Book a hotel in Huế", **{**again, "user_id": "bob"})
        assert other.outcome == ""

    async def test_skills_by_kind_of_task_without_the_archived(self, memory: MemoryFacade) -> None:
        sop = {"use_when": "a customer asks for a refund", "task_type": "support"}
        steps = [{"tool": "orders", "action": "look the order up"}]
        await memory.procedural.add_skill({**sop, "tool_sops": steps, "preferences": ["be brief"]}, user_id="ann")
        await memory.procedural.add_skill({"use_when": "a refund is late", "task_type": "billing"}, user_id="ann")
        [found] = await memory.procedural.search_skills("support", "refund", user_id="ann")
        assert found.payload["tool_sops"] == steps
        assert len(await memory.procedural.search_skills("", "refund", user_id="ann")) == 2
        archived = Skill.from_value({**found.payload, "status": "archived", "trials": 3})
        await memory.procedural.add_skill(archived, user_id="ann")
        assert await memory.procedural.search_skills("support", "refund", user_id="ann") == []
        kept = await memory.list_records("ann", [MemoryScope.PROCEDURAL])
        assert {item.payload["trials"] for item in kept} == {0, 3}


class TestProfile:
    async def test_each_field_has_its_source_its_date_and_its_past(self, memory: MemoryFacade) -> None:
        early = datetime(2026, 1, 1, tzinfo=UTC)
        await memory.profile.update_profile("ann", {"city": "Huế", "name": "Lan"}, source_ids=["m1"], at=early)
        late = early + timedelta(days=9)
        await memory.profile.update_profile("ann", {"city": "Đà Nẵng"}, source_ids=["m9"], at=late)
        between = ProfileValue(value="Hà Nội", source_ids=("m5",), updated_at=early + timedelta(days=5))
        await memory.profile.update_profile("ann", {"city": between})
        profile = await memory.profile.get_profile("ann")
        assert profile is not None
        city = profile.fields["city"]
        assert (city.value, city.source_ids, city.updated_at) == ("Đà Nẵng", ("m9",), late)
        assert [value.value for value in city.previous] == ["Huế", "Hà Nội"]
        assert profile.text == "city: Đà Nẵng; name: Lan"
        assert await memory.profile.get_profile("bob") is None

    async def test_a_schema_orders_fields_and_refuses_what_it_does_not_have(self, open_memory: Open) -> None:
        schema = {"name": "What to call the user.", "age": {"type": "integer"}}
        memory = open_memory(profile=schema)
        changes = {"age": "forty", "shoe": "42", "name": "Lan"}
        update = await memory.profile.update_profile("ann", changes)
        assert update.refused == {
            "age": "'forty' is not an integer",
            "shoe": "is not a field of this profile; it has name, age",
        }
        update = await memory.profile.update_profile("ann", {"age": "41"})
        assert update.profile is not None
        assert update.profile.text == "name: Lan; age: 41"
        with pytest.raises(ValueError, match=r"fields\.shoe: is not a field"):
            await memory.write(event(MemoryScope.PROFILE, fields={"name": "Linh", "shoe": "42"}))
        kept = await memory.profile.get_profile("ann")
        assert kept == update.profile


class TestExperience:
    async def test_failures_and_successful_traces_of_a_kind_of_task(self, memory: MemoryFacade) -> None:
        good = {"action": "search", "arguments": {"q": "hotel"}, "observation": "3 hotels", "error": ""}
        bad = {"action": "book", "arguments": {"id": 1}, "observation": "", "error": "no room"}
        for session, steps in {"monday": [good, bad], "tuesday": [good, good]}.items():
            logged = steps_to_experience(
                steps, session_id=session, agent_id="assistant", turn_id="m1", task_type="trip"
            )
            for _ in range(2):
                await memory.apply([put("ann", step) for step in logged])
        [failure] = await memory.experience.get_failures("trip", user_id="ann")
        assert (failure.tool, failure.error, failure.input) == ("book", "no room", {"id": 1})
        [trace] = await memory.experience.get_successful_traces("trip", user_id="ann")
        assert [(step.session_id, step.tool) for step in trace] == [("tuesday", "search"), ("tuesday", "search")]
        assert await memory.experience.get_failures("other", user_id="ann") == []
        assert await memory.experience.get_failures("trip", user_id="bob") == []

    async def test_a_policy_can_keep_none(self, open_memory: Open) -> None:
        memory = open_memory(learning={"experience": False})
        await memory.experience.log_step({"tool": "search"}, **ANN)
        await memory.write(event(MemoryScope.EXPERIENCE, tool="search"))
        step = {"action": "search", "arguments": {}, "observation": "", "error": ""}
        await record_turn(memory, turn_id="m1", offered=(), steps=[step], **ANN)
        assert await memory.list_records("ann") == []


WRITES: dict[str, dict[str, Any]] = {
    "text": {"scope": MemoryScope.SEMANTIC, "text": "User likes tea"},
    "document": {"scope": MemoryScope.SEMANTIC, "kind": "document", "text": "All about tea"},
    "task step": {"scope": MemoryScope.STATE, "task_id": "t", "text": "buy tea", "status": "done"},
    "profile": {"scope": MemoryScope.PROFILE, "fields": {"drink": {"value": "tea", "updated_at": "2026-01-01T00:00Z"}}},
    "message": {"scope": MemoryScope.DIALOG, "id": "m1", "text": "hi", "role": "user", "content": "hi", "turn": 0},
}


@pytest.mark.parametrize("what", WRITES)
async def test_writing_the_same_twice_changes_nothing(what: str, memory: MemoryFacade) -> None:
    await memory.write(event(**WRITES[what]))
    before = [line async for line in memory.export_user("ann")]
    assert len(before) == 2
    await memory.write(event(**WRITES[what]))
    assert [line async for line in memory.export_user("ann")] == before
    [record] = await memory.list_records("ann", [WRITES[what]["scope"]])
    if what not in ("profile",):
        assert (record.payload["session_id"], record.payload["agent_id"]) == ("monday", "assistant")
