"""What an engine shows the model: the user's words as numbered clauses, and the memories, as fenced data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from memory.clauses import Clause, cut
from memory.extraction.contract import ExistingMemory, TranscriptMessage
from memory.origins import Origin
from memory.own_words import own_words

# Together with the instructions this stays within a window of 8,000 tokens for a usual turn, and a 1 MB message
# costs what a 4,000-character one does.
MAX_USER_CHARS = 4_000
MAX_OTHER_CHARS = 600
MAX_MESSAGES = 80
MAX_CLAUSES = 60
MAX_EXISTING = 20
MAX_EXISTING_CHARS = 300

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

# A text is one line and opens no fence: it can forge neither a message, nor a clause's number, nor the end of the data.
_LINES = re.compile(r"\s+")
_MARK_UP = re.compile(r"<(?=[/\w|!])|\[(?=/?[A-Z]{3,}\])")
_LABEL = re.compile(r"^\[(?=\d+\])")


@dataclass(frozen=True)
class Numbered:
    """A clause with a number.

    Args:
        clause: The clause.
        message: The place of its message in the briefing.
    """

    clause: Clause
    message: int


@dataclass(frozen=True)
class Briefing:
    """One extraction's material.

    Args:
        messages: The messages that are shown, in order.
        clauses: The user's clauses, by number from 1.
        targets: The facts that may be changed, by label (f1, f2, ...).
        transcript: The messages as the model sees them.
        memories: The memories as the model sees them.
        whole: Whether every word of the user's is shown.
        tainted: Whether something is shown that somebody else may have written: a tool's result, a page, quoted text.
        zone: The user's time zone.
    """

    messages: Sequence[TranscriptMessage]
    clauses: Mapping[int, Numbered]
    targets: Mapping[str, ExistingMemory]
    transcript: str
    memories: str
    whole: bool
    tainted: bool
    zone: tzinfo = UTC

    @property
    def enriched(self) -> list[int]:
        """The places of the messages for which index words are wanted."""
        return [place for place, message in enumerate(self.messages) if message.enrich]

    @property
    def earlier(self) -> list[str]:
        """The numbers of clauses that a later message of the user's may change, as labels."""
        last = max((numbered.message for numbered in self.clauses.values()), default=0)
        return [str(number) for number, numbered in self.clauses.items() if numbered.message < last]


def brief(messages: Sequence[TranscriptMessage], existing: Sequence[ExistingMemory], zone: tzinfo = UTC) -> Briefing:
    """Prepare a transcript and what is known for the model.

    Args:
        messages: The transcript, the oldest first.
        existing: What is known, the most relevant first.
        zone: The user's time zone, by which days are shown.

    Returns:
        The material, bounded in size whatever comes in.
    """
    shown = messages[-MAX_MESSAGES:]
    whole = not any(message.role == "user" for message in messages[:-MAX_MESSAGES])
    targets = {f"f{i}": m for i, m in enumerate((m for m in existing[:MAX_EXISTING] if m.kind == "fact"), 1)}
    clauses: dict[int, Numbered] = {}
    lines: list[str] = []
    tainted = False
    day = ""
    for place, message in enumerate(shown):
        if message.at is not None and (date := _day(message.at, zone)) != day:
            day = date
            lines.append(f"({day})")
        own = own_words(message.text) if message.role == "user" else message.text
        hidden = len(message.text) - len(own)
        tainted = tainted or message.role == "tool" or message.origin not in _TRUSTED or hidden > 0
        if message.role != "user" or message.context:
            who = f"{message.role} (before)" if message.context else message.role
            lines.append(f"{who}: {_flat(_ends(own, MAX_OTHER_CHARS))}")
            continue
        lines.append("user:")
        head, tail = _pieces(own, MAX_USER_CHARS)
        said = [clause for text in (head, tail) for clause in cut(text)]
        room = MAX_CLAUSES - len(clauses)
        whole = whole and not tail and len(said) <= room
        for clause in said[:room]:
            number = len(clauses) + 1
            clauses[number] = Numbered(clause, place)
            lines.append(f"[{number}] {_flat(clause.text)}")
        if hidden > 0:
            lines.append(f"(shows: {hidden} characters of quoted or pasted text)")
    known = [f"{label}: {_shown(memory)}" for label, memory in targets.items()]
    return Briefing(
        messages=shown,
        clauses=clauses,
        targets=targets,
        transcript=_fenced("conversation", lines),
        memories=_fenced("memories", known) if known else "",
        whole=whole,
        tainted=tainted,
        zone=zone,
    )


_TRUSTED = frozenset({Origin.USER, Origin.ASSENT, Origin.ASSISTANT})


def _day(at: datetime, zone: tzinfo) -> str:
    """Return a day with its name: "last Friday" is counted from it."""
    day = at.astimezone(zone).date()
    return f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"


def _shown(memory: ExistingMemory) -> str:
    about = "" if memory.about == "user" else f"about {memory.about}: "
    date = f" ({memory.at.date().isoformat()})" if memory.at else ""
    return f"{_flat(f'{about}{_ends(memory.text, MAX_EXISTING_CHARS)}')}{date}"


def text_shown(role: str, text: str) -> str:
    """Return what is looked at of a message: all of it, or its beginning and its end, each a line of its own.

    Args:
        role: Who says it.
        text: What it says.
    """
    return "\n".join(filter(None, _pieces(text, MAX_USER_CHARS if role == "user" else MAX_OTHER_CHARS)))


def _ends(text: str, limit: int) -> str:
    """Keep the head and the tail: a long message tells what it is about first and what is wanted last."""
    head, tail = _pieces(text, limit)
    return f"{head} [... {len(text) - len(head) - len(tail)} characters left out ...] {tail}" if tail else head


def _pieces(text: str, limit: int) -> tuple[str, str]:
    return (text, "") if len(text) <= limit else (text[: limit * 2 // 3], text[-(limit // 3) :])


def _flat(text: str) -> str:
    line = _LINES.sub(" ", text).strip()
    return _LABEL.sub("(", _MARK_UP.sub("‹", line))


def _fenced(tag: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])
