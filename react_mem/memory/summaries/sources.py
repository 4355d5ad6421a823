"""Sources of a summary: fenced data of a bounded size for a model, and the chain that they come from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, Self, cast

from react_mem.memory.language.hallucination import names, numbers
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.own_words import parts
from react_mem.memory.language.statements import cue, is_pleasantry, is_question, sentences, speaks_of_self
from react_mem.memory.llm.answers import block, row
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.kinds import SUMMARY
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.policy import SummarySettings
from react_mem.memory.model.records import Summary, SummaryLevel

MAX_CHARS = 24_000
"""Maximum characters of all sources together, some 8,000 tokens of Vietnamese: they fit into a small model's window."""

_MAX_SOURCE = 4_000
_MIN_SOURCE = 200
CUT = "[…]"
"""Placeholder for the middle of a long source."""


@dataclass(frozen=True)
class Source:
    """One message by a role, or summary: its text without quotations, the time of its last message, and the `quoted`
    words of another author, or code, in a user message.
    """

    text: str
    at: datetime
    role: str = ""
    quoted: str = ""

    @classmethod
    def of_message(cls, text: str, at: datetime, role: str) -> Self:
        r"""Return a message as a source, the user's own words apart from quotations; not for an event loop.

        >>> source = Source.of_message("Is that so?\n> I live in Rome.", datetime(2026, 11, 20, tzinfo=UTC), "user")
        >>> source.text.strip(), source.quoted
        ('Is that so?', '> I live in Rome.')
        """
        if role != "user":
            return cls(text, at, role)
        found = parts(text)
        said = "\n".join(part.text for part in found if not part.shown)
        return cls(said.strip(), at, role, "\n".join(part.text for part in found if part.shown).strip())

    @property
    def whole(self) -> str:
        """All of its text, as evidence for a summary."""
        return f"{self.text}\n{self.quoted}" if self.quoted else self.text

    @property
    def day(self) -> str:
        """Its day, with the weekday: "last Friday" is counted from it."""
        return f"{self.at.astimezone(UTC):%a %Y-%m-%d}"


def bounded(sources: Sequence[Source]) -> list[Source]:
    """Return sources that together fit: each keeps its beginning and its end."""
    share = max(_MIN_SOURCE, min(_MAX_SOURCE, MAX_CHARS // max(len(sources), 1)))
    return [
        replace(source, text=_edges(source.text, share), quoted=_edges(source.quoted, share - len(source.text)))
        if len(source.whole) > share
        else source
        for source in sources
    ]


def rendered(tag: str, sources: Sequence[Source]) -> str:
    """Return sources for a model: one JSON object a line, between tags that no source can close.

    >>> from datetime import datetime
    >>> print(rendered("conversation", [Source("Hi </conversation>", datetime(2026, 11, 20, tzinfo=UTC), "user")]))
    <conversation>
    {"role": "user", "date": "Fri 2026-11-20", "text": "Hi ‹/conversation›"}
    </conversation>
    """
    lines = (
        {"role": source.role, "date": source.day, "text": source.text, "quoted": source.quoted} for source in sources
    )
    return block(tag, (row({name: value for name, value in line.items() if value}) for line in lines))


def _edges(text: str, limit: int) -> str:
    """Keep the head and the tail: a long message tells its subject first and its wish last."""
    if len(text) <= limit:
        return text
    if limit < _MIN_SOURCE // 2:
        return CUT
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n{CUT}\n{text[-tail:]}"


# Text within a length: cut where a sentence ends, else between words, and never so that a number says another one.

_ELLIPSIS = "…"
# "12 500" without its "000" is another number, and "5" without "million" as well.
_NUMBER = re.compile(r"\W*\d[\d\W]*")
_JOINERS = ("\u200d", "\ufe0f")


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters.

    >>> shortened("An has two cats. They are called Mo and Mi.", 30)
    'An has two cats.'
    >>> shortened("The house costs 12 500 000 dong a month", 24)
    'The house costs…'
    """
    if len(text) <= limit:
        return text
    text = unwrapped(text[: 2 * limit + 2])
    kept = 0
    for sentence in sentences(text[: limit + 1]):
        place = text.find(sentence, kept) + len(sentence)
        # the last one may have been cut by the bound itself
        if place > limit or not _ends(text, place):
            break
        kept = place
    return text[:kept].rstrip() if kept else _words(text, limit)


def _ends(text: str, place: int) -> bool:
    """Return true if a sentence that ends here ends in the whole text too: not the "3." of "3.5", nor a mere line."""
    return (text[place].isspace() and text[place - 1] in "\"'”’»)].!?…") or text[place - 1] in "。！？"


def _words(text: str, limit: int) -> str:
    cut = limit - len(_ELLIPSIS)
    words = text[: cut + 1].split(" ")
    if len(words) > 1:
        del words[-1]
    else:
        while cut and _is_joined(text, cut):
            cut -= 1
        words = [text[:cut]]
    while words and (not words[-1] or _NUMBER.fullmatch(words[-1])):
        del words[-1]
    return " ".join(words).rstrip(",;:–—-") + _ELLIPSIS


def _is_joined(text: str, cut: int) -> bool:
    """Return true if a cut would split a letter and its accent, an emoji, or a number."""
    after, before = text[cut], text[cut - 1]
    number = after.isdigit() and (before.isdigit() or before in ".,")
    return number or bool(unicodedata.combining(after)) or after in _JOINERS or before in _JOINERS


# A summary without a model: the sentences that say most, word for word and in order.

MADE_BY = "extractive"
"""Mark of a summary that no model has made."""

_MIN_SENTENCE = 40
"""Minimum characters of a telling sentence; a shorter rest of the room stays empty."""

_SHARE = 2
"""Divisor of the room for one sentence: one pasted line would push everything else out."""

_ROLE = re.compile(r"^(user|assistant|system|tool|agent|observer): ")
_DECIDES = cue("decides")


@dataclass(frozen=True)
class _Sentence:
    place: int
    role: str
    text: str
    worth: float


def extract_sentences(sources: Sequence[Source], length: int, *, named: bool = True) -> str:
    """Return the sentences of the sources that name people, places, numbers and decisions, with their speakers if
    `named`, in at most `length` characters.

    Sentences that tell nothing, as small talk and most questions, are left out even where there is room. Where none
    says much, the beginning of the sources is returned.

    >>> from datetime import datetime, timezone
    >>> at = datetime(2026, 11, 20, tzinfo=timezone.utc)
    >>> said = [Source("Hello! I moved to Hue in 2019. Is it far?", at, "user"), Source("Noted.", at, "assistant")]
    >>> extract_sentences(said, 600)
    'user: I moved to Hue in 2019.'
    """
    found = list(_sentences(bounded(sources), length))
    chosen: list[_Sentence] = []
    for sentence in sorted(found, key=lambda sentence: -sentence.worth):
        if sentence.worth >= 0 and len(_told([*chosen, sentence], named)) <= length:
            chosen.append(sentence)
    return _told(chosen, named) or shortened(_told(found, named), length) or CUT


def _sentences(sources: Sequence[Source], length: int) -> Iterator[_Sentence]:
    most = max(length // _SHARE, _MIN_SENTENCE)
    place = 0
    said: set[tuple[str, str]] = set()
    for source in sources:
        role = source.role
        for sentence in sentences(source.text):
            # a summary of this kind says who said what
            if not source.role and (told := _ROLE.match(sentence)):
                role, sentence = told[1], sentence[told.end() :]
            text = shortened(" ".join(sentence.split()), most)
            if text.strip(f"… {CUT}") and (role, text) not in said:
                said.add((role, text))
                place += 1
                yield _Sentence(place, role, text, _worth(text, role))


def _worth(sentence: str, role: str) -> float:
    if is_pleasantry(sentence):
        return -1.0
    worth: float = min(len(names(sentence)), 3) + min(len(numbers(sentence)), 2)
    worth += 3.0 * bool(_DECIDES.search(sentence)) - 3.0 * is_question(sentence)
    # what users say of themselves is what will be asked for later
    worth += 1.5 * (role == "user") + 2.0 * (role == "user" and speaks_of_self(sentence))
    return worth if len(sentence) >= _MIN_SENTENCE or worth > 0 else worth - 1.0


def _told(chosen: Sequence[_Sentence], named: bool) -> str:
    parts: list[str] = []
    role = ""
    for sentence in sorted(chosen, key=lambda sentence: sentence.place):
        told = named and sentence.role and sentence.role != role
        parts.append(f"{sentence.role}: {sentence.text}" if told else sentence.text)
        role = sentence.role
    return " ".join(parts)


# The context chain of a conversation: its latest messages, and the summaries that stand in the place of the others.

MASTER: Literal["master"] = "master"

MAX_WAITING = 200
"""Maximum number of messages that wait in a chain, as many as `n_sum` may be: the chain is read in every turn. Further
messages of a conversation join once these have been summed up.
"""


@dataclass(frozen=True)
class Fold:
    """Group of items, in the order of the conversation, that becomes one summary, or updates the master."""

    entries: tuple[ChainEntry, ...]
    level: SummaryLevel
    master: ChainEntry | None = None

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The records of the items."""
        return tuple(entry.id for entry in self.entries)

    @property
    def parts(self) -> tuple[ChainEntry, ...]:
        """All entries that the summary will replace."""
        return self.entries if self.master is None else (self.master, *self.entries)

    @property
    def at(self) -> datetime:
        """Time of the last entry."""
        return max(entry.at for entry in self.parts)

    @property
    def extent(self) -> dict[str, int]:
        """First and last place in the conversation, and number of messages covered."""
        return {
            "first_turn": min(entry.first_turn for entry in self.parts),
            "last_turn": max(entry.last_turn for entry in self.parts),
            "covers": sum(entry.covers for entry in self.parts),
        }

    @property
    def origin(self) -> Origin:
        """Origin of the summary: the summariser's, and none above its sources."""
        return lowest([Origin.ASSISTANT, *(entry.origin for entry in self.parts)])

    def summary_id(self, session_id: str) -> str:
        """Return the id of the summary: the same for the same sources, and one master a conversation."""
        sources = (session_id,) if self.level == MASTER else self.source_ids
        return SUMMARY.id(self.level, *sources)

    def is_of(self, chain: ContextChain) -> bool:
        """Return true if a chain still holds all of this unchanged."""
        return set(self.parts) <= set(chain.entries)


def next_fold(chain: ContextChain, settings: SummarySettings) -> Fold | None:
    """Return the next group of a chain to sum up, if any: the highest level first, and of messages the first `n_sum`,
    so that a chain becomes the same whether it is folded after each message or after many.
    """
    top = [entry for entry in chain.entries if _number(entry) >= settings.max_sum_lvl]
    if len(top) >= settings.sum_window:
        master = next((entry for entry in chain.entries if entry.level == MASTER), None)
        return Fold(tuple(top[: settings.sum_window]), MASTER, master)
    for level in range(settings.max_sum_lvl - 1, 0, -1):
        same = [entry for entry in chain.entries if _number(entry) == level]
        if len(same) >= settings.n_sum_sum:
            return Fold(tuple(same[: settings.n_sum_sum]), cast("SummaryLevel", str(level + 1)))
    messages = [entry for entry in chain.entries if entry.is_message][: settings.n_sum]
    if len(messages) < settings.n_sum:
        return None
    window = settings.sum_window
    return Fold(tuple(messages[-window:] if settings.window == "newest" else messages[:window]), "1")


def applied(chain: ContextChain, fold: Fold, summary: Summary) -> ContextChain:
    """Return the chain with a summary in place of its sources, or of the master that it updates."""
    made = ChainEntry(
        id=summary.id,
        level=fold.level,
        text=summary.text,
        at=fold.at,
        origin=summary.origin,
        **fold.extent,
    )
    place, folded = fold.parts[0].id, set(fold.source_ids)
    entries = [
        made if entry.id == place else entry for entry in chain.entries if entry.id == place or entry.id not in folded
    ]
    return chain.model_copy(update={"entries": tuple(entries)})


def without(chain: ContextChain, ids: Sequence[str]) -> ContextChain:
    """Return the chain without the entries of these records."""
    return chain.model_copy(update={"entries": tuple(entry for entry in chain.entries if entry.id not in ids)})


def shown(chain: ContextChain, first_turn: int) -> list[ChainEntry]:
    """Return the entries of a chain that cover something before `first_turn`, where the verbatim part begins."""
    return [entry for entry in chain.entries if entry.first_turn < first_turn]


def _number(entry: ChainEntry) -> int:
    """Return the level of a summary; 0 for a message, and for the master, which is above all levels."""
    return int(entry.level) if entry.level.isdecimal() else 0
