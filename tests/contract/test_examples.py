"""Examples of the memory layer's design (document 003), each as it is written there.

A class is a section of the document, a test one of its examples. Imports are ours: see decision 0001.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore

from react_mem.memory import (
    MemoryPolicy,
    MemoryQuery,
    MemoryResults,
    MemoryScope,
    MemoryWriteEvent,
)
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.files import AgentFile
from react_mem.memory.model.operations import put, write
from react_mem.memory.scopes import (
    DialogMemoryStore,
    ProceduralMemoryStore,
    SemanticMemoryStore,
    StateMemoryStore,
)
from react_mem.memory.scopes.scope import BoundMemory
from react_mem.memory.store.postgres import MemoryStore
from tests.support.stores import open_any_store

USER_ID, SESSION_ID, FLOW_ID = "user_id", "session_id", "flow_id"
WHO: dict[str, Any] = {"user_id": USER_ID, "session_id": SESSION_ID, "agent_id": "planner"}
SOP: dict[str, Any] = {
    "use_when": "deploy Next.js app to Vercel",
    "tool_sops": [
        {"tool": "create_repo", "action": "create repo from template nextjs"},
        {"tool": "run_cmd", "action": "npm install"},
    ],
    "preferences": "use pnpm if available",
}


@pytest.fixture
async def memory(database_server: str) -> AsyncIterator[MemoryFacade]:
    """Memory on our store."""
    async with open_any_store("memory store", database_server) as store:
        yield MemoryFacade(store)


def texts(results: MemoryResults, *sources: str) -> list[str]:
    """Return what results say, of some kinds."""
    return [item.payload["text"] for item in results if item.source in sources]


async def talk(memory: MemoryFacade, session_id: str, *said: str) -> None:
    """Have the user and the agent speak in turn."""
    for place, content in enumerate(said):
        await memory.dialog.append(USER_ID, session_id, "assistant" if place % 2 else "user", content)


class TestSection51Dialog:
    """The latest messages of a conversation, and what it came to."""

    async def test_append_get_context_update_summary(self, memory: MemoryFacade) -> None:
        for _ in range(2):
            await memory.dialog.append(USER_ID, SESSION_ID, "user", "Find me a hotel")
        await memory.dialog.append(USER_ID, SESSION_ID, role="assistant", content="Which city?")
        await memory.dialog.update_summary(USER_ID, SESSION_ID, "The user looks for a hotel.")
        context = await memory.dialog.get_context(USER_ID, SESSION_ID, limit_turns=20)
        said = [(message.role, message.content, message.turn) for message in context.messages]
        assert said == [("user", "Find me a hotel", 0), ("user", "Find me a hotel", 1), ("assistant", "Which city?", 2)]
        assert context.summary is not None
        assert context.summary.text == "The user looks for a hotel."
        [last] = (await memory.dialog.get_context(USER_ID, SESSION_ID, 1)).messages[:1]
        assert last.turn == 1
        with pytest.raises(ValueError, match="role: 'robot' is none of user, assistant"):
            await memory.dialog.append(USER_ID, SESSION_ID, "robot", "beep")  # type: ignore[call-overload]

    async def test_messages_as_mappings(self, memory: MemoryFacade) -> None:
        said = [
            {"role": "user", "content": "Hello", "id": "m1", "name": "Lan"},
            HumanMessage("Are you there?", id="m2"),
            {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
        ]
        for _ in range(2):
            await memory.dialog.append(USER_ID, SESSION_ID, said)
        context = await memory.dialog.get_context(USER_ID, SESSION_ID)
        told = [(one.role, one.speaker, one.text, one.turn) for one in context.messages]
        assert told[:3] == [("user", "Lan", "Hello", 0), ("user", "", "Are you there?", 1), ("assistant", "", "Yes", 2)]
        assert [one[2] for one in told[3:]] == ["Yes"]
        for wrong, cause in (
            ([{"content": "Hello"}], r"messages\[0\]: role: 'None' is none of user"),
            ([{"role": "user", "content": 42}], r"messages\[0\]: content: must be a text"),
            (["Hello"], r"messages\[0\] is a str"),
            ([HumanMessage("Hello")], r"messages\[0\] has no id"),
        ):
            with pytest.raises(ValueError, match=cause):
                await memory.dialog.append(USER_ID, SESSION_ID, wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="content: must be a text"):
            await memory.dialog.append(USER_ID, SESSION_ID, "user", 42)  # type: ignore[call-overload]

    async def test_a_read_without_a_query_is_this_conversation_and_no_other(self, memory: MemoryFacade) -> None:
        await talk(memory, "another", "My secret is tea", "Noted")
        await talk(memory, SESSION_ID, *(f"line {number}" for number in range(12)))
        await memory.dialog.update_summary(USER_ID, "another", "About tea.")
        await memory.dialog.update_summary(USER_ID, SESSION_ID, "Lines were said.")
        found = await memory.read(MemoryQuery(**WHO, scopes=[MemoryScope.DIALOG]))
        assert texts(found, "summary") == ["Lines were said."]
        assert texts(found, "message") == [f"line {number}" for number in range(12)]
        two = await memory.read(MemoryQuery(**WHO, scopes=[MemoryScope.DIALOG], extra={"turns": 2}))
        assert texts(two, "message") == [f"line {number}" for number in range(8, 12)]
        few = MemoryFacade(memory.store, memory.policy.model_validate({"context": {"dialog_turns": 1}}))
        last = await few.read(MemoryQuery(**WHO, scopes=[MemoryScope.DIALOG], extra={"turns": 2}))
        assert texts(last, "message") == ["line 10", "line 11"]
        assert await few.read(MemoryQuery(**WHO, scopes=[MemoryScope.DIALOG], extra={"turns": 0})) == []
        with pytest.raises(ValueError, match=r"extra\['turns'\]"):
            await memory.read(MemoryQuery(**WHO, scopes=[MemoryScope.DIALOG], extra={"turns": -1}))

    async def test_a_read_with_a_query_has_hits_of_other_conversations_too(self, memory: MemoryFacade) -> None:
        await talk(memory, "another", "My favourite drink is tea", "Noted")
        await talk(memory, SESSION_ID, "Hello", "Hello", "What is my favourite drink?")
        asked = MemoryQuery(**WHO, scopes=[MemoryScope.DIALOG], query="favourite drink")
        results = await memory.read(asked)
        found, seen = texts(results, "message"), [item.id for item in results]
        assert found[:3] == ["Hello", "Hello", "What is my favourite drink?"]
        assert "My favourite drink is tea" in found[3:]
        assert len(seen) == len(set(seen))
        assert await memory.read(asked.model_copy(update={"extra": {"seen": seen}})) == []
        searched = texts(await memory.read(asked.model_copy(update={"extra": {"turns": 0}})), "message")
        assert "Hello" not in searched[:2]


class TestSection53Semantic:
    """Documents as mappings."""

    async def test_add_documents_and_search(self, memory: MemoryFacade) -> None:
        docs = [
            {"text": "Green tea from Thai Nguyen", "title": "Tea", "source": "tea.md", "page": 3},
            {"content": "Black coffee from Dak Lak", "uri": "coffee.md", "metadata": {"lang": "en"}},
            {"page_content": "Mineral water", "url": "https://x/water", "id": "water"},
        ]
        for _ in range(2):
            kept = await memory.semantic.add_documents(docs, user_id=USER_ID)
        assert [(one.title, one.uri, one.metadata) for one in kept] == [
            ("Tea", "tea.md", {"page": 3}),
            ("", "coffee.md", {"lang": "en"}),
            ("", "https://x/water", {}),
        ]
        assert kept[2].id == "water"
        assert len(await memory.list_records(USER_ID)) == 3
        [found] = await memory.semantic.search("Green tea", {"title": "Tea"}, 1, user_id=USER_ID)
        assert found.payload["text"] == "Green tea from Thai Nguyen"
        with pytest.raises(ValueError, match=r"docs\[1\] has no text"):
            await memory.semantic.add_documents([docs[0], {"title": "Nothing"}], user_id=USER_ID)

    async def test_a_filter_finds_what_is_behind_a_thousand_others(
        self, memory: MemoryFacade, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("react_mem.memory.scopes.scope.MAX_FILTERED", 2)
        docs = [{"text": f"Cheap {size}", "product": size} for size in ("green tea", "tea", "black tea", "laptop")]
        await memory.semantic.add_documents(docs, user_id=USER_ID)
        [found] = await memory.semantic.search("Cheap tea", {"product": "laptop"}, user_id=USER_ID)
        assert found.payload["text"] == "Cheap laptop"


class TestSection54Procedural:
    """A procedure as it is told."""

    @pytest.mark.parametrize(
        "preferences",
        ["use pnpm if available", ["use pnpm if available"], {"use pnpm": "if available"}],
    )
    async def test_add_skill(self, memory: MemoryFacade, preferences: Any) -> None:
        steps = [{"tool_name": one["tool"], "action": one["action"]} for one in SOP["tool_sops"]]
        await memory.procedural.add_skill({**SOP, "tool_sops": steps, "preferences": preferences}, user_id=USER_ID)
        [found] = await memory.procedural.search_skills("", "deploy to Vercel", 3, user_id=USER_ID)
        assert found.payload["tool_sops"] == SOP["tool_sops"]
        [preference] = found.payload["preferences"]
        assert preference.replace(":", "") == SOP["preferences"]
        assert preference in found.payload["text"]
        assert "run_cmd: npm install" in found.payload["text"]


class TestSection55Profile:
    """Values of any plain type."""

    async def test_update_profile(self, memory: MemoryFacade) -> None:
        changes = {"name": "Lan", "age": 41, "height": 1.6, "vegetarian": True}
        await memory.profile.update_profile(USER_ID, changes)
        profile = await memory.profile.get_profile(USER_ID)
        assert profile is not None
        assert profile.known_values() == {"age": "41", "height": "1.6", "name": "Lan", "vegetarian": "true"}
        with pytest.raises(ValueError, match=r"fields\.tags\[0\]: must be a text, a number or a truth value"):
            await memory.profile.update_profile(USER_ID, {"tags": [object()]})
        several = {"tags": ["tea", 2], "size": {"shirt": "M", "shoe": 41}}
        await memory.profile.update_profile("other", several)
        other = await memory.profile.get_profile("other")
        assert other is not None
        assert other.known_values() == {"size": "shirt: M; shoe: 41", "tags": "tea; 2"}
        event = MemoryWriteEvent(**WHO, scope=MemoryScope.PROFILE, data={"fields": {"age": 42}}, meta={"form": "f1"})
        await memory.write(event)
        [found] = await memory.read(MemoryQuery(**WHO, scopes=[MemoryScope.PROFILE]))
        assert (found.payload["fields"]["age"]["value"], found.payload["meta"]) == ("42", {"form": "f1"})


class TestSection61BeforeANode:
    """The planner's read."""

    async def test_the_planner_reads_four_scopes_at_once(self, memory: MemoryFacade) -> None:
        user_utterance = "Build me an agent that searches flights"
        await talk(memory, SESSION_ID, "Hello", "How can I help?", user_utterance)
        await memory.semantic.add_documents([{"text": "Flights are searched by an agent."}], user_id=USER_ID)
        sop = {**SOP, "use_when": "build an agent that searches", "task_type": "build_search_agent"}
        await memory.procedural.add_skill(sop, user_id=USER_ID)
        await memory.profile.update_profile(USER_ID, {"name": "Lan"})
        query = MemoryQuery(
            user_id=USER_ID,
            session_id=SESSION_ID,
            agent_id="planner",
            flow_id=FLOW_ID,
            node_id="planner_node",
            scopes=[MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.PROCEDURAL, MemoryScope.PROFILE],
            query=user_utterance,
            task_type="build_search_agent",
        )
        mem_results = await memory.read(query)
        assert texts(mem_results, "message")[:3] == ["Hello", "How can I help?", user_utterance]
        assert texts(mem_results, "document") == ["Flights are searched by an agent."]
        assert [item.payload["use_when"] for item in mem_results if item.scope is MemoryScope.PROCEDURAL] == [
            "build an agent that searches"
        ]
        assert texts(mem_results, "profile") == ["name: Lan"]


class TestSection62AfterANode:
    """The tool node's write."""

    @pytest.mark.parametrize("tool_input", [{"url": "https://example.com"}, "https://example.com"])
    async def test_the_tool_node_logs_its_step(self, memory: MemoryFacade, tool_input: Any) -> None:
        started = time.monotonic()
        tool_output, error, trace_id = {"status": 200}, None, "trace-1"
        latency = (time.monotonic() - started) * 1_000
        event = MemoryWriteEvent(
            user_id=USER_ID,
            session_id=SESSION_ID,
            agent_id="worker_agent",
            flow_id=FLOW_ID,
            node_id="http_tool_node",
            scope=MemoryScope.EXPERIENCE,
            data={
                "task_type": "call_external_api",
                "tool_name": "HttpRequestTool",
                "input": tool_input,
                "output": tool_output,
                "error": error,
                "success": error is None,
                "latency_ms": latency,
            },
            meta={"trace_id": trace_id},
        )
        # over the wire, as a gateway sends it, and by hand: the same
        for written in (event, MemoryWriteEvent.model_validate_json(event.model_dump_json())):
            await memory.write(written)
        asked = MemoryQuery(**WHO, scopes=[MemoryScope.EXPERIENCE], task_type="call_external_api")
        [found] = await memory.read(asked)
        kept = found.payload
        assert (kept["tool_name"], kept["tool"], kept["success"]) == ("HttpRequestTool", "HttpRequestTool", True)
        assert kept["latency_ms"] == pytest.approx(latency, abs=1e-6)
        assert kept["output"] == '{"status": 200}'
        given = {} if tool_input is None else {"input": tool_input}
        assert kept["input"] == (tool_input if isinstance(tool_input, dict) else given)
        assert (kept["flow_id"], kept["node_id"], kept["meta"]) == (FLOW_ID, "http_tool_node", {"trace_id": trace_id})
        [[step]] = await memory.experience.get_successful_traces("call_external_api", 50, user_id=USER_ID)
        # what is read can be read back, and logged again
        assert type(step).from_value(kept) == step
        await memory.experience.log_step({**kept, **WHO})
        assert len(await memory.read(asked)) == 1

    async def test_a_trace_is_a_turn(self, memory: MemoryFacade) -> None:
        def event(trace: dict[str, str], error: str | None = None) -> MemoryWriteEvent:
            data = {"task_type": "call", "tool_name": "Http", "input": "a", "output": "b", "error": error}
            return MemoryWriteEvent(**WHO, scope=MemoryScope.EXPERIENCE, data=data, meta=trace)

        for trace in ("t-0", "t-1", "t-2", "t-2"):
            await memory.write(event({"trace_id": trace}))
        await memory.write(event({"trace_id": "t-0"}, error="timeout"))
        traces = await memory.experience.get_successful_traces("call", user_id=USER_ID)
        assert [[step.meta["trace_id"] for step in trace] for trace in traces] == [["t-2"], ["t-1"]]
        [failed] = await memory.experience.get_failures("call", user_id=USER_ID)
        assert failed.meta == {"trace_id": "t-0"}
        for _ in range(2):
            await memory.write(event({}))
        assert len(await memory.list_records(USER_ID)) == 5

    @pytest.mark.parametrize(
        ("scope", "data"),
        [
            (MemoryScope.SEMANTIC, {"text": "User likes tea"}),
            (MemoryScope.PROCEDURAL, SOP),
            (MemoryScope.STATE, {"task_id": "t", "text": "buy tea", "status": "done"}),
            (MemoryScope.DIALOG, {"id": "m", "role": "user", "text": "tea", "content": "tea", "turn": 0}),
        ],
    )
    async def test_each_scope_keeps_where_a_write_comes_from(
        self, memory: MemoryFacade, scope: MemoryScope, data: dict[str, Any]
    ) -> None:
        come_from = {"flow_id": FLOW_ID, "node_id": "node", "meta": {"trace_id": "trace-1"}}
        await memory.write(MemoryWriteEvent(**WHO, **come_from, scope=scope, data=data))
        [found] = await memory.list_records(USER_ID)
        assert {name: found.payload[name] for name in come_from} == come_from
        plain = MemoryWriteEvent(**{**WHO, "user_id": "other"}, flow_id=FLOW_ID, scope=scope, data=data)
        await memory.write(plain)
        [other] = await memory.list_records("other")
        assert "meta" not in other.payload

    async def test_no_conversation_is_not_one_that_can_be_deleted(self, memory: MemoryFacade) -> None:
        await memory.semantic.add_documents([{"text": "Green tea"}], user_id=USER_ID)
        for session_id in ("", " ", None):
            with pytest.raises(ValueError, match=r"session_id (must name a conversation|is a NoneType; give str)"):
                await memory.delete_session(USER_ID, session_id)  # type: ignore[arg-type]
        assert len(await memory.list_records(USER_ID)) == 1

    async def test_what_stays_of_a_fact_has_no_note_of_what_is_forgotten(self, memory: MemoryFacade) -> None:
        fact = {"text": "I live in Hue and I drink green tea"}
        meta = {"form": "lives in Hue"}
        await memory.write(MemoryWriteEvent(**WHO, scope=MemoryScope.SEMANTIC, data=fact, meta=meta))
        await memory.forget_said(USER_ID, "I live in Hue")
        [left] = await memory.semantic.history(user_id=USER_ID)
        assert "green tea" in left.text
        assert "Hue" not in str(await memory.list_records(USER_ID))

    async def test_what_is_forgotten_stands_in_no_note(self, memory: MemoryFacade) -> None:
        await talk(memory, SESSION_ID, "I live in Hue")
        [said] = (await memory.dialog.get_context(USER_ID, SESSION_ID)).messages
        meta = {"form": "lives in Hue"}
        facts = [{"text": "I live in Hue", "source_ids": [said.id]}, {"text": "I drink tea", "source_ids": [said.id]}]
        for fact in facts:
            await memory.write(MemoryWriteEvent(**WHO, scope=MemoryScope.SEMANTIC, data=fact, meta=meta))
        [hue] = [fact for fact in await memory.semantic.history(user_id=USER_ID) if "Hue" in fact.text]
        receipt = await memory.forget(USER_ID, hue.id)
        assert receipt.problems == ()
        assert "Hue" not in str(await memory.list_records(USER_ID))
        [left] = await memory.semantic.history(user_id=USER_ID)
        assert (left.text, left.meta) == ("I drink tea", {})


class TestSection5LiterallyForOneOwner:
    """Every call of section 5 by the document's own parameters, on the memory of one owner."""

    @pytest.fixture
    def bound(self, memory: MemoryFacade) -> BoundMemory:
        """Memory of one owner in one conversation."""
        return memory.of(USER_ID, session_id=SESSION_ID, agent_id="planner")

    async def test_dialog(self, bound: BoundMemory) -> None:
        await bound.dialog.append(USER_ID, SESSION_ID, "user", "Hello")
        await bound.dialog.update_summary(USER_ID, SESSION_ID, "A greeting.")
        context = await bound.dialog.get_context(USER_ID, SESSION_ID, limit_turns=20)
        assert ([one.content for one in context.messages], context.summary.text) == (["Hello"], "A greeting.")
        assert context.messages[0].agent_id == "planner"

    async def test_state(self, bound: BoundMemory) -> None:
        await bound.state.save_state(FLOW_ID, SESSION_ID, {"status": "running"})
        assert await bound.state.get_state(FLOW_ID, SESSION_ID) == {"status": "running"}
        step = await bound.state.log_task_step("task", "create the repo", "failed", error="no access")
        assert (step.status, step.error, step.session_id) == ("failed", "no access", SESSION_ID)

    async def test_experience(self, bound: BoundMemory, memory: MemoryFacade) -> None:
        step_data = {"task_type": "deploy", "tool_name": "run_cmd", "error": "npm is missing", "latency_ms": 12}
        await bound.experience.log_step(step_data)
        await memory.experience.log_step({**step_data, **WHO, "session_id": "next", "error": None})
        [failure] = await bound.experience.get_failures("deploy", limit=50)
        assert (failure.error, failure.latency, failure.agent_id) == ("npm is missing", 0.012, "planner")
        [[step]] = await bound.experience.get_successful_traces("deploy", limit=50)
        assert step.session_id == "next"
        with pytest.raises(ValueError, match="one owner"):
            await memory.experience.log_step(step_data)

    async def test_nobody_elses(self, bound: BoundMemory, memory: MemoryFacade) -> None:
        for call in (
            bound.profile.get_profile("other"),
            bound.dialog.get_context("other", SESSION_ID),
            bound.state.get_state(FLOW_ID, SESSION_ID, user_id="other"),
            bound.experience.log_step({"tool": "run_cmd", "user_id": "other"}),
        ):
            with pytest.raises(ValueError, match=r"another user|one owner"):
                await call
        with pytest.raises(ValueError, match="user_id"):
            memory.of("")
        for name in ("write", "store", "_get", "nothing"):
            with pytest.raises(AttributeError, match="no call"):
                getattr(bound.semantic, name)


class TestSection7Policy:
    """Which stores a flow's facade asks, for how many items, and whether it logs steps."""

    async def test_the_facade_reads_the_flows_policy(self, memory: MemoryFacade) -> None:
        flow_config: dict[str, MemoryPolicy] = {}
        flow_config["smart_buyer"] = MemoryPolicy(use_semantic=True, use_procedural=True, max_docs=8, max_skills=5)  # type: ignore[call-arg]
        flow_config["small_talk"] = MemoryPolicy(  # type: ignore[call-arg]
            use_dialog=False, use_profile=False, use_procedural=False, write_experience=False, max_docs=2
        )
        for number in range(10):
            await memory.semantic.add_documents([{"text": f"Offer {number}: tea"}], user_id=USER_ID)
            await memory.procedural.add_skill({"use_when": f"buying tea {number}"}, user_id=USER_ID)
        await memory.profile.update_profile(USER_ID, {"drink": "tea"})
        await memory.dialog.append(USER_ID, SESSION_ID, "user", "tea")
        found = {}
        for flow, policy in flow_config.items():
            of_flow = MemoryFacade(memory.store, policy)
            await of_flow.experience.log_step({"tool": flow, **WHO})
            query = MemoryQuery(**WHO, flow_id=flow, scopes=list(MemoryScope), query="tea")
            found[flow] = Counter(item.source for item in await of_flow.read(query))
        logged = {"experience": 1}
        assert found["smart_buyer"] == {"document": 8, "skill": 5, "profile": 1, "message": 1, **logged}
        assert found["small_talk"] == {"document": 2, **logged}


class TestSection9StoresOneByOne:
    """A facade over a store for each scope."""

    @pytest.fixture
    async def stores(self, database_server: str) -> AsyncIterator[dict[str, BaseStore]]:
        """Two stores: one in memory, one in PostgreSQL."""
        async with (
            open_any_store("in memory", database_server) as volatile,
            open_any_store("memory store", database_server) as database,
        ):
            yield {"volatile": volatile, "database": database}

    @pytest.fixture(params=["volatile", "database"])
    def both(self, request: pytest.FixtureRequest, stores: dict[str, BaseStore]) -> MemoryFacade:
        """Memory whose scopes are in both, with either of them as the first."""
        first = stores[request.param]
        [second] = [store for store in stores.values() if store is not first]
        return MemoryFacade(
            dialog_store=DialogMemoryStore(first),
            state_store=StateMemoryStore(first),
            semantic_store=SemanticMemoryStore(second),
            procedural_store=ProceduralMemoryStore(second),
            profile_store=second,
            experience_store=first,
        )

    async def fill(self, memory: MemoryFacade, user_id: str, session_id: str) -> None:
        """Put something into every scope."""
        one = memory.of(user_id, session_id=session_id, agent_id="planner")
        await one.dialog.append(role="user", content=f"I like tea in {session_id}")
        [said] = (await one.dialog.get_context()).messages
        await one.state.save_state(FLOW_ID, session_id, {"status": "running"})
        await one.semantic.add([{"text": f"User likes tea in {session_id}", "source_ids": [said.id]}])
        await one.episodic.record(f"Buy tea in {session_id}", source_ids=[said.id])
        await one.procedural.add_skill({**SOP, "use_when": f"buying tea in {session_id}"})
        await one.profile.update_profile(user_id, {session_id: "tea"}, source_ids=[said.id])
        await one.experience.log_step({"tool": "buy", "source_ids": [said.id]})
        file = AgentFile(path=f"/{session_id}.md", text="Boats in a harbour", session_id=session_id, agent_id="planner")
        await write(memory.store, [put(user_id, file)])

    async def test_the_documents_facade(self, both: MemoryFacade, stores: dict[str, BaseStore]) -> None:
        user_utterance = "Which tea do I like?"
        await self.fill(both, USER_ID, SESSION_ID)
        mem_results = await both.read(
            MemoryQuery(
                user_id=USER_ID,
                session_id=SESSION_ID,
                agent_id="planner",
                flow_id=FLOW_ID,
                scopes=[MemoryScope.DIALOG, MemoryScope.SEMANTIC, MemoryScope.PROCEDURAL],
                query=user_utterance,
            )
        )
        assert {item.source for item in mem_results} == {"message", "fact", "skill"}
        assert mem_results.missing == {}
        places = {
            name: {item.namespace[2] for item in await store.asearch(("memory", USER_ID), limit=100)}
            for name, store in stores.items()
        }
        places = {name: found - {"meta"} for name, found in places.items()}
        first = "volatile" if "dialog" in places["volatile"] else "database"
        second = "database" if first == "volatile" else "volatile"
        # what has no store of its own is in the first
        assert places[first] == {"dialog", "state", "experience", "episodic", "files"}
        assert places[second] == {"semantic", "procedural", "profile"}

    async def test_rights_reach_every_store(self, both: MemoryFacade, stores: dict[str, BaseStore]) -> None:
        async def left(user_id: str) -> str:
            return str(
                [item for one in stores.values() for item in await one.asearch(("memory", user_id), limit=1_000)]
            )

        for session in ("monday", "tuesday"):
            await self.fill(both, USER_ID, session)
        await self.fill(both, "other", "monday")
        exported = [line async for line in both.export_user(USER_ID)]
        for scope in MemoryScope:
            assert f'"in":"{scope}"' in str(exported)
        receipt = await both.delete_session(USER_ID, "monday")
        assert receipt.problems == ()
        assert "monday" not in await left(USER_ID)
        assert "tuesday" in await left(USER_ID)
        copied = await both.import_user("copy", exported)
        assert (copied.added, copied.kept) == (len(exported) - 1, 0)
        [fact] = await both.semantic.history("tea in tuesday", user_id="copy", limit=1)
        await both.forget("copy", fact.id)
        assert "likes tea in tuesday" not in await left("copy")
        erased = await both.forget_user(USER_ID)
        assert erased.receipt.problems == ()
        assert await left(USER_ID) == "[]"
        async with cast("MemoryStore", stores["database"]).pool.connection() as conn:
            owners = await (await conn.execute("SELECT owner FROM memory_owners ORDER BY owner")).fetchall()
        assert [row["owner"] for row in owners] == ["copy", "other"]
        assert [item.scope for item in await both.list_records("other")] != []
