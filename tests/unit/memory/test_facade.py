"""What the facade refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import Memory, MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent

WHO = {"session_id": "monday", "agent_id": "assistant"}

REFUSED: list[tuple[MemoryScope, dict[str, Any], str]] = [
    (MemoryScope.SEMANTIC, {}, "semantic: text: is missing"),
    (MemoryScope.SEMANTIC, {"text": 3}, "semantic: text: must be text, got 3"),
    (MemoryScope.SEMANTIC, {"text": "x", "abuot": "Linh"}, "abuot: is not a field of a fact; did you mean 'about'"),
    (MemoryScope.SEMANTIC, {"text": "x", "kind": "fax"}, "semantic: kind: 'fax' is none of fact, knowledge"),
    (
        MemoryScope.SEMANTIC,
        {"kind": "document", "text": "x", "tittle": "y"},
        "tittle: is not a field of a document; did you",
    ),
    (MemoryScope.EPISODIC, {"outcome": "x"}, "episodic: goal: is missing; give what was wanted"),
    (
        MemoryScope.EPISODIC,
        {"goal": "x", "importance": 2},
        "importance: input should be less than or equal to 1, got 2",
    ),
    (MemoryScope.PROCEDURAL, {"use_when": "x", "tool_sops": [{"tool": "t"}]}, r"tool_sops\.0\.action: is missing"),
    (MemoryScope.EXPERIENCE, {"output": "x"}, "experience: tool: is missing"),
    (MemoryScope.STATE, {"state": {}}, "state: id: is missing.*flow_id: is missing"),
    (MemoryScope.STATE, {"task_id": "t", "text": "x", "status": "almost"}, "status: input should be 'pending'"),
    (MemoryScope.PROFILE, {"fields": {"name": ""}}, r"profile: fields\.name: is empty"),
    (MemoryScope.DIALOG, {"id": "1", "role": "bot", "content": "x", "text": "x", "turn": 0}, "role: input should be"),
]


@pytest.mark.parametrize(("scope", "data", "cause"), REFUSED)
async def test_bad_data_is_named_with_its_field_and_nothing_is_written(
    scope: MemoryScope, data: dict[str, Any], cause: str
) -> None:
    store = InMemoryStore()
    with pytest.raises(ValueError, match=cause) as caught:
        await MemoryFacade(store).write(MemoryWriteEvent(user_id="ann", **WHO, scope=scope, data=data))
    assert "pydantic.dev" not in str(caught.value)
    assert await store.asearch(()) == []


async def test_a_memory_has_its_texts_with_roles_and_ids_its_time_and_its_sources() -> None:
    memory = MemoryFacade(InMemoryStore())
    thread = [HumanMessage("How warm is it in Hue?", id="q"), AIMessage("It is 31 degrees in Hue.", id="a")]
    said = await memory.dialog.append("ann", "monday", thread, agent_id="assistant")
    await memory.dialog.update_summary(
        "ann", "monday", "They asked how warm it is in Hue.", agent_id="assistant", source_ids=[one.id for one in said]
    )
    query = MemoryQuery(user_id="ann", **WHO, scopes=[MemoryScope.DIALOG], query="How warm is it in Hue?")
    by_source = {item.source: item for item in await memory.read(query)}
    message, summary = by_source["message"], by_source["summary"]
    assert [(part.id, part.role) for part in message.fragments] == [(said[0].id, "user"), (said[1].id, "assistant")]
    assert message.created_at == said[0].created_at
    assert message.source_ids == ()
    assert [(part.id, part.content) for part in summary.fragments] == [(summary.id, summary.payload["text"])]
    assert summary.source_ids == (said[0].id, said[1].id)
    assert MemoryResultItem(scope=MemoryScope.STATE, id="x", payload={}, source="other").created_at is None


def test_nobody_is_no_owner() -> None:
    with pytest.raises(ValidationError, match="user_id"):
        MemoryQuery(user_id="", **WHO, scopes=[MemoryScope.DIALOG])
    with pytest.raises(ValidationError, match="user_id"):
        MemoryWriteEvent(user_id="", **WHO, scope=MemoryScope.SEMANTIC, data={"text": "x"})


@pytest.mark.parametrize("method", ["forget_user", "list_records", "pending"])
async def test_every_call_needs_an_owner(method: str) -> None:
    with pytest.raises(ValueError, match="pass a user id"):
        await getattr(MemoryFacade(InMemoryStore()), method)("")


def test_the_facade_keeps_the_protocol() -> None:
    assert isinstance(MemoryFacade(InMemoryStore()), Memory)
