"""Prompt of an extraction: the user's words as numbered clauses, and the memories, as fenced data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import accumulate

from react_mem.memory.language.clauses import Clause, cut, joined
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import ends_of
from react_mem.memory.llm.answers import block, flat
from react_mem.memory.model.operations import ExistingMemory, TranscriptMessage
from react_mem.memory.model.origins import Origin

# Together with the instructions this stays within a window of 8,000 tokens for a usual turn, and a 1 MB message
# costs what a 4,000-character one does.
MAX_USER_CHARS = 4_000
MAX_OTHER_CHARS = 600
MAX_MESSAGES = 80
MAX_CLAUSES = 60
MAX_EXISTING = 30
MAX_EXISTING_CHARS = 300

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

# no text can forge the number of a clause
_LABEL = re.compile(r"^\[(?=\d+\])")


@dataclass(frozen=True)
class Numbered:
    """A clause of a user message, with the index of its message in the briefing and its own index in that message."""

    clause: Clause
    message: int
    place: int


@dataclass(frozen=True)
class Briefing:
    """Input of one extraction, with the prompt's blocks of messages and memories.

    Args:
        shown: The text shown of each message; empty for those before the latest `MAX_MESSAGES`.
        clauses: The user's clauses, numbered from 1.
        hidden: The user's clauses that did not fit into the prompt.
        targets: The facts that may be changed, by label (f1, f2, ...).
        whole: True if every word of the user is shown.
        tainted: True if a tool result, a page or quoted text is shown, which somebody else may have written.
    """

    messages: Sequence[TranscriptMessage]
    shown: Sequence[str]
    clauses: Mapping[int, Numbered]
    hidden: Sequence[Numbered]
    targets: Mapping[str, ExistingMemory]
    transcript: str
    memories: str
    whole: bool
    tainted: bool
    zone: tzinfo = UTC

    @property
    def earlier(self) -> list[str]:
        """Labels of the clauses that a later message of the user may change."""
        last = max((numbered.message for numbered in self.clauses.values()), default=0)
        return [str(number) for number, numbered in self.clauses.items() if numbered.message < last]

    @property
    def known(self) -> list[str]:
        """All wordings of the stored facts."""
        return [text for memory in self.targets.values() for text in wordings(memory)]

    @property
    def snapshot(self) -> bool:
        """True if one of the turns asks for a snapshot."""
        return any(message.snapshot for message in self.messages)

    @property
    def speakers(self) -> bool:
        """True if other people than the user speak in it."""
        return any(message.speaker for message in self.messages)

    @property
    def texts(self) -> tuple[list[str], list[str]]:
        """The messages of the user and the assistant, and the tool results."""
        said = [message.text for message in self.messages if message.role != "tool"]
        return said, [message.text for message in self.messages if message.role == "tool"]

    @property
    def dates(self) -> list[datetime]:
        """Times of the messages."""
        return [message.at for message in self.messages if message.at is not None]

    def sentence_of(self, one: Numbered) -> str:
        """Return the user's sentence with a clause, as far as it is shown."""
        same = (other.clause for other in self.clauses.values() if other.message == one.message)
        return joined(clause for clause in same if clause.sentence == one.clause.sentence)

    def before(self, place: int) -> str:
        """Return the shown text of the assistant's message right before a message; empty if there is none."""
        return self.shown[place - 1] if place and self.messages[place - 1].role == "assistant" else ""


def wordings(memory: ExistingMemory) -> tuple[str, ...]:
    """Return the wordings of a fact: its text, then its subject (empty for the user), then its other wordings."""
    return (memory.text, memory.about if memory.about != "user" else "", *memory.also)


def brief(messages: Sequence[TranscriptMessage], existing: Sequence[ExistingMemory], zone: tzinfo = UTC) -> Briefing:
    """Build the prompt of an extraction, bounded in size for any input.

    The transcript has the oldest message first, the facts the most relevant first; days are shown in the user's zone.
    """
    first = max(len(messages) - MAX_MESSAGES, 0)
    own = [own_words_in(message.text) if message.role == "user" else message.text for message in messages]
    said = {
        i: [Numbered(clause, i, place) for place, clause in enumerate(cut("\n".join(ends_of(own[i]))))]
        for i, one in enumerate(messages)
        if one.role == "user" and not one.context
    }
    open_ = _that_fit({place: ones for place, ones in said.items() if place >= first})
    targets = {f"f{i}": m for i, m in enumerate(existing[:MAX_EXISTING], 1)}
    clauses: dict[int, Numbered] = {}
    shown: list[str] = []
    lines: list[str] = []
    tainted = False
    day = ""
    for place, message in enumerate(messages):
        if place < first:
            # what was said there is kept as it was said
            shown.append("")
            continue
        if message.at is not None and (date := _day(message.at, zone)) != day:
            day = date
            lines.append(f"({day})")
        quoted = len(message.text) - len(own[place])
        tainted = tainted or message.role == "tool" or message.origin not in _TRUSTED or quoted > 0
        if place not in said:
            named = _flat(message.speaker) or message.role
            who = f"{named} (before)" if message.context else named
            shown.append(_ends(own[place], MAX_OTHER_CHARS))
            lines.append(f"{who}: {_flat(shown[-1])}")
            continue
        lines.append(f"{_flat(message.speaker) or 'user'}:")
        last = -1
        for one in open_[place]:
            number = len(clauses) + 1
            clauses[number] = one
            lines += [_LEFT_OUT] if one.place != last + 1 else []
            lines.append(f"[{number}] {_flat(one.clause.text)}")
            last = one.place
        lines += [_LEFT_OUT] if last + 1 < len(said[place]) else []
        shown.append("\n".join(one.clause.text for one in open_[place]))
        if quoted > 0:
            lines.append(f"(shows: {quoted} characters of quoted or pasted text)")
    known = [f"{label}: {_shown(memory)}" for label, memory in targets.items()]
    numbered = set(clauses.values())
    hidden = [one for ones in said.values() for one in ones if one not in numbered]
    read = not any(message.role == "user" for message in messages[:first])
    return Briefing(
        messages=messages,
        shown=shown,
        clauses=clauses,
        hidden=hidden,
        targets=targets,
        transcript=block("conversation", lines),
        memories=block("memories", known) if known else "",
        whole=read and not hidden and all(len(ends_of(own[place])) == 1 for place in said),
        tainted=tainted,
        zone=zone,
    )


_LEFT_OUT = "(some of the message is left out here)"


def _that_fit(said: Mapping[int, Sequence[Numbered]]) -> dict[int, list[Numbered]]:
    """Return the clauses of each message that fit: the latest messages first, both ends of each."""
    room = MAX_CLAUSES
    fit: dict[int, list[Numbered]] = {}
    for place in sorted(said, reverse=True):
        ones = said[place]
        head, tail = _within(ones, MAX_USER_CHARS * 2 // 3), _within(ones[::-1], MAX_USER_CHARS // 3)
        if sum(len(one.clause.text) for one in ones) <= MAX_USER_CHARS:
            head, tail = len(ones), 0
        if head + tail > room:
            head, tail = room * 2 // 3, room - room * 2 // 3
        fit[place] = [one for one in ones if one.place < head or one.place >= len(ones) - tail]
        room -= len(fit[place])
    return fit


def _within(ones: Sequence[Numbered], limit: int) -> int:
    lengths = accumulate(len(one.clause.text) for one in ones)
    return sum(length <= limit for length in lengths)


_TRUSTED = frozenset({Origin.USER, Origin.ASSENT, Origin.ASSISTANT})


def _day(at: datetime, zone: tzinfo) -> str:
    """Return a day with its weekday: "last Friday" is counted from it."""
    day = at.astimezone(zone).date()
    return f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"


def _shown(memory: ExistingMemory) -> str:
    about = "" if memory.about == "user" else f"about {memory.about}: "
    dates = [memory.at.date().isoformat()] if memory.at else []
    dates += [f"until {memory.until.date().isoformat()}"] if memory.until else []
    date = f" ({', '.join(dates)})" if dates else ""
    return f"{_flat(f'{about}{_ends(memory.text, MAX_EXISTING_CHARS)}')}{date}"


def _ends(text: str, limit: int) -> str:
    """Keep the head and the tail: a long message opens with its topic and closes with its request."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    return f"{head} [... {len(text) - len(head) - len(tail)} characters left out ...] {tail}"


def _flat(text: str) -> str:
    return _LABEL.sub("(", flat(text))
