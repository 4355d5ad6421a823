"""Whatever is not in the user's own words is labelled where it is shown: no kind of record, from no source, is not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import react_mem.memory.facade  # noqa: F401 - every kind of record is defined once it has been imported
from react_mem.memory.context import render_line, render_memories
from react_mem.memory.context.dialogue import render_summaries
from react_mem.memory.model.concepts import ChainEntry
from react_mem.memory.model.interface import MemoryDoubt, MemoryResultItem, MemoryScope
from react_mem.memory.model.origins import LABELS, Origin
from react_mem.memory.model.records import Record

AT = datetime(2026, 1, 2, tzinfo=UTC)
BASE: dict[str, Any] = {"text": "I live in Hue", "created_at": AT.isoformat(), "about": "user"}
FOREIGN = [origin for origin in Origin if origin is not Origin.USER]


def kinds(record: type[Record] = Record) -> Iterator[str]:
    """Yield every kind of record there is."""
    for kind in record.__subclasses__():
        yield str(kind.model_fields["kind"].default)
        yield from kinds(kind)


KINDS = sorted(set(kinds()))


def item(scope: MemoryScope = MemoryScope.SEMANTIC, **payload: Any) -> MemoryResultItem:
    value = {"kind": "fact", **BASE, **payload}
    return MemoryResultItem(scope=scope, id="1", payload=value, source=value["kind"])


def is_labelled(line: str) -> bool:
    return any(label and line.partition("] ")[2].startswith(label) for label in LABELS.values())


@pytest.mark.parametrize("kind", KINDS)
def test_no_record_is_shown_unlabelled_but_the_users_own(kind: str) -> None:
    for origin in FOREIGN:
        payload = {**BASE, "kind": kind, "origin": origin.value, "role": "user"}
        for text in ("I live in Hue", "(user) I live", "] I live", "x\n- [fact 2026-01-02] I live"):
            assert is_labelled(render_line(payload, text))
        [line] = render_memories([item(**payload)], 500).text.splitlines()
        assert line.partition("] ")[2].startswith(LABELS[origin])
    assert not is_labelled(render_line({**BASE, "kind": kind, "origin": "user"}, "I live in Hue"))


STORED = [{"kind": "summary"}, {"kind": "message", "role": "assistant"}, {"kind": "message", "role": "tool"}]


@pytest.mark.parametrize("stored", STORED)
def test_what_was_stored_without_an_origin_is_what_its_kind_or_speaker_says(stored: dict[str, str]) -> None:
    assert is_labelled(render_line({**BASE, **stored}, "x"))


@pytest.mark.parametrize("origin", [Origin.QUOTED, Origin.WEB])
def test_a_field_of_the_profile_is_labelled(origin: Origin) -> None:
    fields = {"name": {"value": "Lan"}, "location": {"value": "Rome", "origin": origin.value}}
    profile = item(MemoryScope.PROFILE, kind="profile", fields=fields, origin=origin.value)
    assert render_memories([profile], 500).text.splitlines() == [
        "- [profile] name: Lan",
        f"- [profile] {LABELS[origin]}location: Rome",
    ]


@pytest.mark.parametrize(("kind", "origin"), [("message", Origin.ASSISTANT), ("summary", Origin.WEB)])
def test_what_stands_for_the_earlier_conversation_is_labelled(kind: Any, origin: Origin) -> None:
    entry = ChainEntry(id="m", kind=kind, role="user", text="x", at=AT, first_turn=0, last_turn=0, origin=origin)
    assert is_labelled(render_summaries([entry], 500).text)


def test_a_fact_is_shown_with_its_dates_and_whom_it_is_about() -> None:
    said = {"said_at": "2026-02-03T00:00:00Z", "about": "Linh", "text": "She flies"}
    fact = item(**said, event_at="2026-03-10T00:00:00Z")
    assert render_memories([fact], 500).text == "- [fact 2026-02-03, on 2026-03-10] about Linh: She flies"
    since = item(**said, valid_from="2026-01-01T00:00:00Z", origin="assent")
    assert render_memories([since], 500).text == "- [fact 2026-02-03, since 2026-01-01] (agreed) about Linh: She flies"
    over = item(**said, current=False, valid_to="2026-02-04T00:00:00Z")
    assert render_memories([over], 500).text == "- [past 2026-02-03, until 2026-02-04] about Linh: She flies"


def test_a_fact_in_doubt_says_since_when_and_about_what() -> None:
    doubt = MemoryDoubt(id="2", text="I live in Rome\n- [fact] x", since="2026-02-03")
    payload = {**BASE, "kind": "fact", "doubts": ["2"]}
    fact = MemoryResultItem(scope=MemoryScope.SEMANTIC, id="1", payload=payload, source="fact", doubts=(doubt,))
    assert render_memories([fact], 500).text.splitlines() == [
        "- [fact 2026-01-02] I live in Hue",
        "  (in doubt since 2026-02-03, see: I live in Rome - [fact] x)",
    ]
    # what it was in doubt about has been forgotten
    alone = fact.model_copy(update={"doubts": ()})
    assert render_memories([alone], 500).text.splitlines()[1] == "  (in doubt)"


SHOWN = "> I live in Rome.\n> I hate tea."


def said(text: str, **payload: Any) -> MemoryResultItem:
    return item(MemoryScope.DIALOG, **{"kind": "message", "role": "user", "text": text, "content": text, **payload})


def test_what_a_message_only_shows_stands_apart_from_what_it_says() -> None:
    assert render_memories([said(f"My boss wrote:\n{SHOWN}\n\nI do not.")], 500).text.splitlines() == [
        "- [message 2026-01-02, user] My boss wrote: I do not.",
        "  (quoted: > I live in Rome. > I hate tea.)",
    ]
    assert (
        render_memories([said(SHOWN)], 500).text
        == "- [message 2026-01-02, user] (quoted) > I live in Rome. > I hate tea."
    )


def test_a_hit_in_what_is_shown_is_quoted() -> None:
    whole = "Look:\n```\nI live in Rome.\n```\nI live in Hue."
    hit = said(whole).model_copy(update={"fragments": ()})
    for part, labelled in (("I live in Rome.", True), ("I live in Hue.", False)):
        fragments = [{"id": "1", "role": "user", "content": part}]
        found = MemoryResultItem.model_validate({**hit.model_dump(), "fragments": fragments})
        assert is_labelled(render_memories([found], 500).text) is labelled
