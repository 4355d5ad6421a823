"""The times of facts through whole turns: in the user's own zone, by their words, and as of a time before."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from react_mem.memory.facade import MemoryFacade
from tests.contract.conftest import memory_store
from tests.support.labels import fact, proposal
from tests.support.scripted_model import ScriptedModel
from tests.unit.graphs.test_memory_nodes import build, events

LATE = datetime(2026, 3, 3, 20, tzinfo=UTC)  # a Tuesday; in Vietnam it is Wednesday already


async def _facts(said: str, answer: dict[str, Any], zone: str = "Asia/Ho_Chi_Minh") -> list[Any]:
    store = memory_store()
    memory = MemoryFacade(store)
    await memory.profile.update_profile("ann", {"time_zone": zone})
    graph = build(ScriptedModel(script=["ok"]), store, small=ScriptedModel(script=[json.dumps(answer)]))
    await events(graph, HumanMessage(said, additional_kwargs={"said_at": LATE.isoformat()}))
    return await memory.semantic.history(user_id="ann")


@pytest.mark.parametrize(
    ("said", "when", "field", "expected"),
    [
        ("Ngày mai tôi bay đi Rome", "", "event_at", "2026-03-05T00:00:00+07:00"),
        ("我明天下午三点飞罗马", "soon", "event_at", "2026-03-05T15:00:00+07:00"),
        ("Ich wohne seit 2019 in Rom", "2019..", "valid_from", "2019-01-01T00:00:00+07:00"),
        ("I live in Rome until 2028", "2026..", "valid_to", "2028-12-31T23:59:59+07:00"),
    ],
)
async def test_a_time_is_read_in_the_users_own_zone(said: str, when: str, field: str, expected: str) -> None:
    [stored] = await _facts(said, proposal(facts=[fact(1, said, when=when)]))
    assert stored.to_value()[field] == expected


async def test_what_is_changed_in_a_turn_was_believed_before_it() -> None:
    store = memory_store()
    memory = MemoryFacade(store)
    small = ScriptedModel(
        script=[
            json.dumps(proposal(facts=[fact(1, "User lives in Hue.")])),
            json.dumps(proposal(facts=[fact(1, "User lives in Hanoi.", "changes", "f1")])),
        ]
    )
    graph = build(ScriptedModel(script=["ok", "ok"]), store, small=small)
    await events(graph, "I live in Hue")
    between = datetime.now(UTC)
    await events(graph, "I moved to Hanoi")
    assert [one.text for one in await memory.semantic.history(user_id="ann", as_of=between)] == ["I live in Hue"]
    now = await memory.semantic.history(user_id="ann", as_of=datetime.now(UTC))
    assert [one.text for one in now] == ["I moved to Hanoi"]
