"""Facts for tests, in few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from react_mem.memory.model.records import Fact, fact_id, record_id

START = datetime(2026, 11, 20, 9, tzinfo=UTC)


def fact(text: str, *, about: str = "user", day: int = 0, **more: Any) -> Fact:
    """Return a fact as extraction would write it: the user's own words, and whom they are about."""
    at = START + timedelta(days=day)
    return Fact(
        id=fact_id(about, text),
        text=text,
        about=about,
        created_at=at,
        said_at=at,
        session_id="s1",
        agent_id="assistant",
        source_ids=(record_id("message", about, text),),
        **more,
    )
