"""What the checks make of labels, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from react_mem.memory.llm.answers import Answer
from react_mem.memory.model.operations import ExistingMemory, Extraction, Operation, TranscriptMessage
from react_mem.memory.model.records import Role
from react_mem.memory.write.extraction.briefing import Briefing, brief
from react_mem.memory.write.extraction.checks import check

Said = Sequence[tuple[Role, str]]
TUESDAY = datetime(2026, 3, 3, 12, tzinfo=UTC)


def shown(said: Said | str, known: Sequence[str | ExistingMemory] = ()) -> Briefing:
    """Return what a model is shown of messages, id-1 and so on, and of facts, fact-1 and so on."""
    spoken: Said = [("user", said)] if isinstance(said, str) else said
    messages = [TranscriptMessage(f"id-{i}", role, text, TUESDAY) for i, (role, text) in enumerate(spoken, 1)]
    existing = [ExistingMemory(f"fact-{i}", one) if isinstance(one, str) else one for i, one in enumerate(known, 1)]
    return brief(messages, existing)


def judged(
    said: Said | str, payload: dict[str, Any], known: Sequence[str | ExistingMemory] = (), **answer: Any
) -> Extraction:
    """Return what is believed of labels, for messages beside facts that are known."""
    return check(Answer(payload, **answer), shown(said, known))


def reasons(extraction: Extraction) -> list[str]:
    """Return why something was refused, for each."""
    return list(extraction.rejected)


def unread(extraction: Extraction) -> list[str]:
    """Return the words that no label covers."""
    return [one.text for one in extraction.unread]


def only(extraction: Extraction) -> Operation:
    """Return the one operation."""
    [operation] = extraction.ops
    return operation
