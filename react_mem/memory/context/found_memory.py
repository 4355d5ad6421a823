"""Retrieved memory in a prompt: its part of the briefing, its line, its origin label and its texts for comparison."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from functools import cached_property
from itertools import dropwhile, groupby
from typing import Any, Generic, NamedTuple, TypeVar

from react_mem.memory.language import length
from react_mem.memory.language.folding import normalise
from react_mem.memory.language.own_words import parts
from react_mem.memory.language.statements import is_pleasantry, is_question
from react_mem.memory.language.terms import index_terms
from react_mem.memory.language.times import told_day
from react_mem.memory.llm.answers import flat
from react_mem.memory.llm.budget import count_lines
from react_mem.memory.merging.blocks import shown_blocks
from react_mem.memory.model.interface import Fragment, MemoryDoubt, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import DOCUMENT, FACT, MESSAGE, SUMMARY, about_of, origin_of, speaker_of
from react_mem.memory.model.origins import LABELS, Origin
from react_mem.memory.model.records import local
from react_mem.prompts import load_prompt

# Parts of the briefing, the section of the prompt with memories, in their order, each under a heading.


class BriefingPart(StrEnum):
    """A part of the briefing, in the order of the prompt; the headings are in `prompts/memory_parts.md`."""

    INSTRUCTIONS = "instructions"
    PROFILE = "profile"
    FACTS = "facts"
    DOCUMENTS = "documents"
    SAID = "said"
    EARLIER = "earlier"
    SKILLS = "skills"


class BriefingEntry(NamedTuple):
    """A memory in the prompt: its part of the briefing, and its line with the lines below it."""

    part: BriefingPart
    text: str


_ROWS = (line.partition(":") for line in load_prompt("memory_parts").splitlines())
HEADINGS = {BriefingPart(name): f"# {heading.strip()}" for name, _, heading in _ROWS}

HEADING_TOKENS = {part: count_lines(heading) for part, heading in HEADINGS.items()}

_ORDER = {part: place for place, part in enumerate(BriefingPart)}

_PARTS = {
    MemoryScope.PROFILE: BriefingPart.PROFILE,
    MemoryScope.DIALOG: BriefingPart.EARLIER,
    MemoryScope.EPISODIC: BriefingPart.EARLIER,
    MemoryScope.PROCEDURAL: BriefingPart.SKILLS,
}

_PARTS_BY_KIND = {
    DOCUMENT.name: BriefingPart.DOCUMENTS,
    MESSAGE.name: BriefingPart.SAID,
}


def part_of(item: MemoryResultItem) -> BriefingPart:
    """Return the part of a memory; a memory of a custom scope stands with the facts."""
    return _PARTS_BY_KIND.get(item.source) or _PARTS.get(item.scope, BriefingPart.FACTS)


def briefing(entries: Iterable[BriefingEntry]) -> str:
    """Return entries in parts, each under its heading and in its order: of each part the most relevant last."""
    ordered = sorted(entries, key=lambda entry: _ORDER[entry.part])
    parts = groupby(ordered, key=lambda entry: entry.part)
    return "\n".join("\n".join([HEADINGS[part], *(entry.text for entry in among)]) for part, among in parts)


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class PromptBlock(Generic[_Item]):
    """Rendered section of the prompt.

    Args:
        text: One list, the most relevant last, as a search tool returns it; empty where there is none.
        items: What stands in it, the most relevant first; `dropped` is how many did not fit.
        entries: The lines of memories by their parts, the most relevant last.
    """

    text: str = ""
    items: Sequence[_Item] = ()
    dropped: int = 0
    entries: Sequence[BriefingEntry] = ()

    @classmethod
    def of(cls, entries: Sequence[BriefingEntry], items: Sequence[_Item], dropped: int) -> PromptBlock[_Item]:
        return cls("\n".join(entry.text for entry in entries), items, dropped, entries)

    def __add__(self, other: PromptBlock[_Item]) -> PromptBlock[_Item]:
        """Return both, this one first."""
        entries = [*self.entries, *other.entries]
        return self.of(entries, [*self.items, *other.items], self.dropped + other.dropped)

    @property
    def briefing(self) -> str:
        """The same in parts under headings, as the prompt has it; empty where there is none."""
        return briefing(self.entries)


# A memory as a line of text, for a model or a person: its kind, its date, who vouches for it, and what it says.

MAX_LINE_CHARS = 600
"""Maximum characters of a memory in the prompt; the whole text stays in the store."""

MAX_PARTNER_CHARS = 200
"""Maximum characters of the answer, or the question, next to a message: enough to see its subject."""

SUMMARY_ID = 8
"""Characters of a summary's id by which it is named to the tool that unfolds it."""

_TIMES = {"on": "event_at", "since": "valid_from", "until": "valid_to"}
"""Dates of a fact besides the day of the message."""

_MAX_NAME = 80

_MANY_WORDS = 8
"""Number of words above which a sentence is no pleasantry."""

_SHORT_NAME = 3
"""Letters of a name that its short form has too: "Mel" is Melanie."""

_FEW_WORDS = 4
"""Number of words below which a fact may say too little by itself, such as "and a dog"."""

_MAX_READ = 100_000
"""Maximum characters of a message in which quotations are told apart; nobody types as many."""


def render_line(
    payload: Mapping[str, Any],
    text: str,
    limit: int = MAX_LINE_CHARS,
    *,
    kind: str = "",
    doubts: Collection[MemoryDoubt] = (),
    times: bool = False,
    zone: tzinfo = UTC,
    quoted: bool = False,
    messages: int = 0,
) -> str:
    """Return the line of a memory (as JSON) with a text, and its doubts on lines below it.

    No text can end its line or pass for a label: labels stand before it.

    Args:
        kind: Its kind in the line; by default the record's.
        times: True to show the time of day with the date.
        zone: The user's time zone, by which it is dated.
        quoted: True if the text is only quoted in a message of the user.
        messages: Number of messages of the same content that are left out for it.
    """
    origin = Origin.QUOTED if quoted and origin_of(payload) is Origin.USER else origin_of(payload)
    reading = str(payload.get("reading") or "")
    # a few words are read with the sentence that a model made of them
    whole = f"{text} ({reading})" if reading and length(text) < _FEW_WORDS else text
    more = f", +{messages} message{'s' * (messages > 1)}" if messages else ""
    head = _head(payload, kind, origin, times=times, zone=zone)
    told = f"- [{head}{more}] {labelled(payload, flat(whole, limit), origin)}"
    against = [f" since {doubt.since}, see: {flat(doubt.text, MAX_PARTNER_CHARS)}" for doubt in doubts if not doubt.of]
    if payload.get("doubts") and payload.get("current", True):
        told += "".join(f"\n  (in doubt{one})" for one in against or [""])
    return told + changed_since(doubts, str(payload.get("id")))


def changed_since(doubts: Iterable[MemoryDoubt], id_: str) -> str:
    """Return the changes since a message or summary, a line for each, to stand below it."""
    told = (f"\n  ({flat(one.change, 2 * MAX_PARTNER_CHARS)})" for one in doubts if one.of == id_)
    return "".join(dict.fromkeys(told))


def labelled(payload: Mapping[str, Any], text: str, origin: Origin | None = None) -> str:
    """Return a memory's text behind its origin (by default the record's) and subject, each only if not the user."""
    name = about_of(payload)
    about = f"about {flat(name, _MAX_NAME)}: " if name else ""
    return f"{LABELS[origin or origin_of(payload)]}{about}{text}"


def render_beside(role: str, text: str) -> str:
    """Return a text of `role` as an indented line below a memory's line."""
    return f"\n  ({role}: {flat(text, MAX_PARTNER_CHARS)})"


def render_message(payload: Mapping[str, Any], text: str, limit: int = MAX_LINE_CHARS) -> str:
    """Return the line of a message; text that the user only quotes stands below."""
    said, quoted = said_and_shown(payload, text)
    if not said and quoted:
        return render_line(payload, quoted, limit, quoted=True)
    return render_line(payload, said, limit) + (render_beside("quoted", quoted) if quoted else "")


def render_beginning(text: str) -> str:
    r"""Return the first words of a user as the title of a conversation: their own words, else marked as quoted.

    Args:
        text: The message, or its beginning.

    >>> render_beginning("> I live in Rome."), render_beginning("Is it so?\n> I live in Rome.")
    ('(quoted) > I live in Rome.', 'Is it so?')
    """
    said, quoted = said_and_shown({"role": "user"}, text[: 4 * MAX_LINE_CHARS])
    return flat(said, MAX_LINE_CHARS) or f"{LABELS[Origin.QUOTED]}{flat(quoted, MAX_LINE_CHARS)}"


def profile_lines(profile: Mapping[str, Any]) -> list[str]:
    """Return a line for each field of a profile (as JSON) that is not empty."""
    return [
        f"- [profile] {LABELS[origin_of(entry)]}" + flat(f"{name}: {entry['value']}", MAX_LINE_CHARS)
        for name, entry in profile.get("fields", {}).items()
        if entry["value"]
    ]


def said_and_shown(payload: Mapping[str, Any], text: str) -> tuple[str, str]:
    """Return the author's own words in a text of a message, and the rest: quotations by the user, and images.

    `text` is the whole message, or the part that matched.
    """
    content = payload.get("content")
    whole = content if isinstance(content, str) and text in content else text
    found: dict[bool, list[str]] = {False: [], True: []}
    if payload.get("role") != "user" or len(whole) > _MAX_READ:
        found[payload.get("role") == "user"].append(text)
    else:
        begin = whole.find(text)
        end = begin + len(text)
        place = 0
        for part in parts(whole):
            found[part.shown].append(part.text[max(begin - place, 0) : max(end - place, 0)])
            place += len(part.text)
    said, quoted = ("\n".join(filter(str.strip, found[shown])) for shown in (False, True))
    return said, "\n".join(filter(None, (quoted, shown_blocks(content))))


def _head(payload: Mapping[str, Any], kind: str, origin: Origin, *, times: bool, zone: tzinfo) -> str:
    kind = "milestone" if payload.get("milestone_title") else kind or str(payload.get("kind"))
    at = str(payload.get("said_at") or payload.get("created_at") or "")
    with suppress(ValueError):
        at = local(datetime.fromisoformat(at), zone).replace(tzinfo=None).isoformat()
    date = at.partition("+")[0].removesuffix("Z").replace("T", " ") if times else at[:10]
    who = speaker_of(payload)
    if kind == FACT.name:
        text = str(payload.get("quote") or payload.get("text") or "")
        times_told = {name: str(payload[field]) for name, field in _TIMES.items() if payload.get(field)}
        days = [*([who] if who else []), *(f"{name} {told_day(day, text, at)}" for name, day in times_told.items())]
        return ", ".join((f"past {date}" if payload.get("current") is False else f"fact {date}", *days))
    named = str(payload.get("id") or "")[:SUMMARY_ID]
    if kind == SUMMARY.name and named.isalnum():
        # by which a tool reads what it was made of
        kind = f"{kind} {named}"
    role = who or str(payload.get("role") or "")
    # where the label says who speaks, that is enough
    told = who or _spoken_by("" if f"({role}) " == LABELS[origin] else role, str(payload.get("speaker") or ""))
    return f"{kind} {date}" + (f", {told}" if told else "")


def _spoken_by(role: str, speaker: str) -> str:
    """Return who says a message: the role, and the name where there is one, without brackets and commas."""
    name = flat(speaker, _MAX_NAME).translate(dict.fromkeys(map(ord, "()[],"))).strip()
    return role if role == speaker else f"{role} {name}".strip()


_WORD = re.compile(r"\w+")

_MARKS = frozenset('"“”„«»「」()')

_PIECES = re.compile(r"[^.!?…。！？\n]*[.!?…。！？\s]*")
"""Sentences, or parts of one, with what ends them: joined they are the text."""


class FoundMemory:
    """Retrieved memory, rendered once, however often it is chosen; `times` shows the time of day, `zone` dates it."""

    def __init__(self, item: MemoryResultItem, *, times: bool = False, zone: tzinfo = UTC) -> None:
        self.item = item
        self.part = part_of(item)
        """Part of the briefing in which it stands."""
        self._times, self._zone = times, zone
        # of a long text, the part that matched
        own = next((part.content for part in item.fragments if part.id == item.id), None)
        said, shown = said_and_shown(item.payload, str(item.payload.get("text", "")) if own is None else own)
        self.text, self._quoted = said or shown, not said and bool(shown)
        """Text to show."""
        if item.source == MESSAGE.name and not self._quoted:
            self.text = _told_by(self.text, item.fragments)
        self.key = normalise(self.text)
        """Normalised text; empty for a message without content of its own."""
        self.about = normalise(str(item.payload.get("about") or ""))
        """Normalised name of its subject; empty where none is named, as of a message."""
        self._beside = [("", *_told("quoted", shown))] if said and shown else []
        for part in item.fragments:
            if part.id != item.id and (content := _told_by(part.content, item.fragments)):
                key, line = _as_said(part.model_copy(update={"content": content}))
                self._beside.append((part.id, key, line + changed_since(item.doubts, part.id)))
        self._lines: dict[tuple[int, int], str] = {}
        self.messages = 0
        """Messages that it replaces, which its line tells."""

    @property
    def linked(self) -> list[str]:
        """Lines of the linked memories."""
        return [render_beside(part.role, part.content) for part in self.item.linked]

    @cached_property
    def is_own(self) -> bool:
        """True for the user's own words."""
        return not self._quoted and origin_of(self.item.payload) is Origin.USER

    @cached_property
    def terms(self) -> frozenset[str]:
        """Index terms of the shown text."""
        return frozenset(index_terms(self.text[:MAX_LINE_CHARS]))

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the normalised text."""
        return frozenset(_WORD.findall(self.key))

    @property
    def partners(self) -> list[str]:
        """Normalised texts of the neighbouring messages."""
        return [key for id_, key, _ in self._beside if id_ and key]

    def line(self, limit: int = MAX_LINE_CHARS) -> str:
        """Return its line with at most `limit` characters of the text."""
        item, told = self.item, (limit, self.messages)
        if told not in self._lines:
            self._lines[told] = render_line(
                item.payload,
                self.text,
                limit,
                kind=item.source,
                doubts=item.doubts,
                times=self._times,
                zone=self._zone,
                quoted=self._quoted,
                messages=self.messages,
            )
        return self._lines[told]

    def beside(self, ids: Collection[str], known: Collection[str]) -> dict[str, str]:
        """Return the lines of the neighbouring messages by their normalised texts, without messages or known texts that
        may have a line of their own.
        """
        return {key: line for id_, key, line in self._beside if id_ not in ids and key and key not in known}


def _told_by(said: str, beside: Sequence[Fragment]) -> str:
    """Return a message without the pleasantries before and behind its words; empty for mere pleasantries.

    `beside` are the texts of the exchange: "Yes." after a question is an answer, and is left as it is.
    """
    if len(said) > MAX_LINE_CHARS:
        return said
    names = tuple(name[:_SHORT_NAME].casefold() for one in beside for name in one.speaker.split())

    def is_mere(piece: str) -> bool:
        words = piece.split()
        return (
            len(words) <= _MANY_WORDS
            and _MARKS.isdisjoint(piece)
            and is_pleasantry(" ".join(word for word in words if not (names and word.casefold().startswith(names))))
        )

    told = [*dropwhile(is_mere, _PIECES.findall(said))]
    told = [*dropwhile(is_mere, reversed(told))][::-1]
    return "".join(told).strip() or (said if any(is_question(one.content) for one in beside) else "")


def _as_said(part: Fragment) -> tuple[str, str]:
    """Return the neighbouring text of a memory, without quotations."""
    said, shown = said_and_shown({"role": part.role}, part.content)
    return _told(_spoken_by(part.role, part.speaker) if said or not shown else "quoted", said or shown)


def _told(role: str, text: str) -> tuple[str, str]:
    """Return a text below the line of a memory: normalised, and as a line."""
    return normalise(text), render_beside(role, text)
