"""What an engine shows the model: the transcript and the memories as fenced data, under short aliases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from memory.extraction.contract import ExistingMemory, TranscriptMessage

# Together with the instructions this stays within a window of 8,000 tokens for a usual turn, and a 1 MB message
# costs what a 4,000-character one does.
MAX_USER_CHARS = 4_000
MAX_OTHER_CHARS = 1_000
MAX_MESSAGES = 80
MAX_EXISTING = 50
MAX_EXISTING_CHARS = 300

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_FENCE = re.compile(r"<(?=\s*/?\s*(?:transcript|memories|conversation)\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Briefing:
    """One extraction's material.

    Args:
        messages: The messages that are shown, by alias (m1, m2, ...), in order, cut as the model sees them.
        targets: The facts that may be changed, by alias (f1, f2, ...).
        transcript: The messages as the model sees them.
        memories: The memories as the model sees them.
        whole: Whether every word of the user's is shown.
    """

    messages: Mapping[str, TranscriptMessage]
    targets: Mapping[str, ExistingMemory]
    transcript: str
    memories: str
    whole: bool

    @property
    def enriched(self) -> list[str]:
        """The aliases of the messages for which index words are wanted."""
        return [alias for alias, message in self.messages.items() if message.enrich]

    @property
    def has_user(self) -> bool:
        """Whether the user said anything."""
        return any(message.role == "user" and message.text.strip() for message in self.messages.values())


def brief(messages: Sequence[TranscriptMessage], existing: Sequence[ExistingMemory]) -> Briefing:
    """Prepare a transcript and what is known for the model.

    Args:
        messages: The transcript, the oldest first.
        existing: What is known, the most relevant first.

    Returns:
        The material, bounded in size whatever comes in.
    """
    shown = messages[-MAX_MESSAGES:]
    # what is checked against a message is what the model saw of it
    aliased = {f"m{i}": replace(m, text=text_shown(m.role, m.text)) for i, m in enumerate(shown, 1)}
    facts = [memory for memory in existing[:MAX_EXISTING] if memory.kind == "fact"]
    others = [memory for memory in existing[:MAX_EXISTING] if memory.kind != "fact"]
    targets = {f"f{i}": memory for i, memory in enumerate(facts, 1)}
    known = [{"id": alias, "text": _cut(memory.text, MAX_EXISTING_CHARS)} for alias, memory in targets.items()]
    known += [{"kind": memory.kind, "text": _cut(memory.text, MAX_EXISTING_CHARS)} for memory in others]
    said = [
        {"id": alias, "role": message.role, **_date(message), "text": _cut(message.text, _limit(message.role))}
        for alias, message in zip(aliased, shown, strict=True)
    ]
    lost = any(message.role == "user" for message in messages[:-MAX_MESSAGES])
    cut = any(message.role == "user" and len(message.text) > MAX_USER_CHARS for message in shown)
    return Briefing(
        messages=aliased,
        targets=targets,
        transcript=_fenced("transcript", said),
        memories=_fenced("memories", known),
        whole=not (lost or cut),
    )


def _date(message: TranscriptMessage) -> dict[str, str]:
    """Return the day of a message, with its name: "last Friday" is counted from it."""
    if message.at is None:
        return {}
    day = message.at.astimezone(UTC).date()
    return {"date": f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"}


def text_shown(role: str, text: str) -> str:
    """Return what a model is shown of a message: all of it, or its beginning and its end, each a line of its own.

    Args:
        role: Who says it.
        text: What it says.
    """
    return "\n".join(_ends(text, _limit(role)))


def _limit(role: str) -> int:
    return MAX_USER_CHARS if role == "user" else MAX_OTHER_CHARS


def _cut(text: str, limit: int) -> str:
    """Keep the head and the tail: a long message tells what it is about first and what is wanted last."""
    ends = _ends(text, limit)
    left_out = len(text) - sum(map(len, ends))
    return f" [... {left_out} characters left out ...] ".join(ends)


def _ends(text: str, limit: int) -> tuple[str, ...]:
    return (text,) if len(text) <= limit else (text[: limit * 2 // 3], text[-(limit // 3) :])


def _fenced(tag: str, rows: Sequence[Mapping[str, str]]) -> str:
    # One JSON object a line: a message cannot forge another message, nor close the fence that it stands in.
    lines = [_FENCE.sub("‹", json.dumps(row, ensure_ascii=False)) for row in rows]
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])
