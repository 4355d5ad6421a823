"""Facts for tests, in few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.records import Fact, record_id

START = datetime(2026, 11, 20, 9, tzinfo=UTC)


def fact(subject: str, predicate: str, object_: str, text: str = "", *, day: int = 0, current: bool = True) -> Fact:
    """Return a fact as extraction would write it."""
    at = START + timedelta(days=day)
    return Fact(
        id=record_id("fact", subject, predicate, object_),
        text=text or f"{'User' if subject == 'user' else subject} {predicate.replace('_', ' ')} {object_}.",
        subject=subject,
        predicate=predicate,
        object=object_,
        current=current,
        created_at=at,
        said_at=at,
        session_id="s1",
        agent_id="assistant",
        source_ids=(record_id("message", subject, predicate, object_),),
    )
