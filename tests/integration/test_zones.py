"""Days as the user lives them: by the zone of the profile, when a question is read and when a memory is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.context import Frame, Window, assemble
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy

ZONES = (
    *("America/Bogota", "America/Los_Angeles", "America/Sao_Paulo", "Atlantic/Azores", "Europe/Berlin", "Asia/Kolkata"),
    *("Africa/Nairobi", "Asia/Ho_Chi_Minh", "Asia/Shanghai", "Asia/Tokyo", "Australia/Adelaide", "Pacific/Kiritimati"),
)
ASKED = {
    "en": ("What did I tell you on 25 November?", "What did I tell you yesterday?"),
    "de": ("Was habe ich dir am 25. November erzählt?", "Was habe ich dir gestern erzählt?"),
    "es": ("¿Qué te conté el 25 de noviembre?", "¿Qué te conté ayer?"),
    "vi": ("Ngày 25 tháng 11 tôi đã nói gì?", "Hôm qua tôi đã nói gì?"),
    "zh": ("我11月25日跟你说了什么？", "我昨天跟你说了什么？"),
    "ja": ("11月25日に何を話しましたか？", "昨日何を話しましたか？"),
}
SAID = {-1: "Wrote the report.", 1: "Signed the lease.", 23 * 60 + 59: "Fed the cat.", 24 * 60 + 1: "Ate pancakes."}
"""Minutes from midnight of the 25th, with what was said then."""


@pytest.mark.parametrize("zone", ZONES)
async def test_a_named_day_is_a_day_of_the_users(zone: str) -> None:
    memory, user = MemoryFacade(InMemoryStore()), "ann"
    await memory.profile.update_profile(user, {"time zone": zone})
    midnight = datetime(2026, 11, 25, tzinfo=ZoneInfo(zone))
    for place, (minutes, text) in enumerate(SAID.items()):
        at = (midnight + timedelta(minutes=minutes)).astimezone(UTC)
        said = HumanMessage(text, id=str(place), additional_kwargs={"said_at": at.isoformat()})
        await memory.dialog.append(user, f"t{place}", [said])
    asked_at = (midnight + timedelta(hours=34)).astimezone(UTC).isoformat()
    missed = []
    for language, questions in ASKED.items():
        for question in questions:
            extra = {"now": asked_at, "turns": 0}
            found = await memory.read(
                MemoryQuery(
                    user_id=user,
                    session_id="x",
                    agent_id="a",
                    scopes=[MemoryScope.DIALOG],
                    query=question,
                    extra=extra,
                )
            )
            near = {item.payload["text"] for item in found[:2]}
            if near != {"Signed the lease.", "Fed the cat."}:
                missed.append((language, question, [item.payload["text"] for item in found]))
    assert missed == []


async def test_the_prompt_has_the_users_days_today_and_the_precision_that_was_said() -> None:
    memory, user = MemoryFacade(InMemoryStore()), "ann"
    await memory.profile.update_profile(user, {"time zone": "America/Bogota"})
    said = HumanMessage("I like tea.", id="1", additional_kwargs={"said_at": "2026-11-26T01:30:00+00:00"})
    await memory.dialog.append(user, "t", [said])
    frame = Frame([HumanMessage("What do I like to drink, tea?", id="2")], MemoryPolicy(), Window(16_000, known=True))
    found = await memory.read(frame.query(Identity(user_id=user, session_id="x"), "a"))
    prompt = assemble(frame, found, recalls=True).layout["retrieved"]
    assert "2026-11-25" in prompt
    assert "2026-11-26" not in prompt
    today = datetime.now(ZoneInfo("America/Bogota"))
    assert f"[today] {today:%Y-%m-%d, %A}, America/Bogota" in prompt
