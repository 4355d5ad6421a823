"""Whether a summary says what its sources say: the names and numbers that it lost, and those that it invented.

Deterministic, for any language that writes names with capitals; of another one numbers alone are compared. The first
word of a sentence is not taken for a name: to accuse "Discussed" of being invented helps nobody.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import chain

from memory.extraction.grounding import fold, is_grounded
from memory.statements import sentences
from memory.summaries.sources import Source

_ROOM = 40
"""Characters that a summary needs for one name or number and what is said of it: what has no room is not missed."""

_TOO_MANY_CAPITALS = 0.4
"""The share of words with a capital above which capitals mark no names, as in headlines and shouting."""

_MIN_JUDGED = 8
"""Words from which that share says something."""

_DATE = r"\d{4}-\d{2}-\d{2}"
_PART = re.compile(rf"{_DATE}|\d+(?:[.,:/]\d+)*")
# Phone numbers and "12 500 000": one number with gaps, or several.
_RUN = re.compile(rf"{_DATE}(?!\d)|\d+(?:[.,:/ -]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")
_WORD = re.compile(r"[^\W_](?:[\w'’&.-]*[^\W_])?")
_SPELT = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "không một hai ba bốn năm sáu bảy tám chín mười",
    )
    for number, word in enumerate(words.split())
}
_NO_NAMES = {"i", "user", "assistant", "ai", *(fold(name) for name in (*calendar.month_name, *calendar.day_name))}


@dataclass(frozen=True)
class Coherence:
    """How a summary compares with its sources.

    Args:
        kept: How many of the sources' names and numbers it has.
        room: How many of them it has room for.
        lost: Those it does not have, in their order.
        invented: Names and numbers that it has and no source does.
    """

    kept: int
    room: int
    lost: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def quality(self) -> float:
        """The share that it kept of what it has room for, less the share of its own that it invented; from 0 to 1."""
        kept = min(self.kept / self.room, 1.0) if self.room else 1.0
        return max(0.0, kept - len(self.invented) / ((self.kept + len(self.invented)) or 1))

    @property
    def fails(self) -> bool:
        """Whether it should be made once more: it invents something, or has lost most of what it has room for."""
        return bool(self.invented) or self.kept * 2 < self.room


def compare(summary: str, sources: Sequence[Source], length: int, known: Sequence[Source] = ()) -> Coherence:
    """Compare a summary with its sources.

    Args:
        summary: The summary.
        sources: What it sums up.
        length: Characters that it may have.
        known: What else it may speak of, such as the summary before it.

    >>> from datetime import datetime
    >>> said = [Source("We meet Lan in Hue at 7:30.", datetime(2026, 11, 20, tzinfo=UTC), "user")]
    >>> found = compare("They meet Lan in Paris at 8:30.", said, 600)
    >>> found.lost, found.invented
    (('Hue', '7:30'), ('Paris', '8:30'))
    """
    told = "\n".join(source.text for source in sources)
    around = "\n".join(source.text for source in (*sources, *known))
    invented = [name for name in names(summary) if not _is_named(name, around)]
    invented += _unknown(summary, _values(around) | _days(sources))
    named, written = names(told), numbers(told)
    lost = [name for name in named if not _is_named(name, summary)] + _unknown(told, _values(summary))
    kept = len(named) + len(written) - len(lost)
    room = min(len(named) + len(written), max(length // _ROOM, 1))
    return Coherence(kept, room, tuple(lost), tuple(invented))


def names(text: str) -> list[str]:
    """Return the words of a text that are names, each once, in their order.

    >>> names("Yesterday Minh went to Hà Nội. He liked it.")
    ['Minh', 'Hà', 'Nội']
    """
    found: dict[str, str] = {}
    words = capitals = 0
    for sentence in sentences(text):
        for word in _WORD.findall(sentence)[1:]:
            words += 1
            capitals += word[0].isupper()
            if word[0].isupper() and fold(re.split("['’]", word)[0]) not in _NO_NAMES:
                found.setdefault(fold(word), word)
    return [] if words >= _MIN_JUDGED and capitals > _TOO_MANY_CAPITALS * words else list(found.values())


def numbers(text: str) -> list[str]:
    """Return the numbers of a text as they are written, each once, in their order.

    >>> numbers("On 2026-11-20 we paid 12,500 dong for 3 of them")
    ['2026-11-20', '12,500', '3']
    """
    return list({_value(part): part for part in _PART.findall(text)}.values())


def _is_named(name: str, text: str) -> bool:
    # inflected or written together counts as well: "Minh's", "Hanoi" for "Hà Nội"
    return is_grounded(name, text)


def _unknown(text: str, values: set[str]) -> list[str]:
    """Return the numbers of a text that are none of these values."""
    found: dict[str, str] = {}
    for run in _RUN.findall(text):
        if _joined(run) not in values:
            found |= {_value(part): part for part in _PART.findall(run) if _value(part) not in values}
    return list(found.values())


def _values(text: str) -> set[str]:
    """Return every number that a text can be said to hold: 7:30 holds 7 as well, and "three" is 3."""
    found = {_joined(run) for run in _RUN.findall(text)}
    for part in _PART.findall(text):
        found |= {_value(part), *(_value(digits) for digits in re.findall(r"\d+", part))}
    return found | {_SPELT[word] for word in re.findall(r"[^\W\d_]+", text.casefold()) if word in _SPELT}


def _value(number: str) -> str:
    """Return a number in one form: 1,000 and 1.000 and 1000; 3,50 and 3.5; 07:30 and 7:30.

    >>> _value("1,000"), _value("3,50"), _value("07:30"), _value("2026-11-20")
    ('1000', '3.5', '7:30', '2026-11-20')
    """
    if _GROUPED.fullmatch(number):
        return re.sub("[.,]", "", number)
    if decimal := _DECIMAL.fullmatch(number):
        return f"{_plain(decimal[1])}.{decimal[2].rstrip('0')}".rstrip(".")
    return number if re.fullmatch(_DATE, number) else re.sub(r"\d+", lambda digits: _plain(digits[0]), number)


def _plain(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _joined(run: str) -> str:
    return "".join(re.findall(r"\d+", run)) if re.search("[ -]", run) else _value(run)


def _days(sources: Sequence[Source]) -> set[str]:
    """Return the days that "today", "yesterday" and "tomorrow" may mean, and their parts."""
    days = {source.at.astimezone(UTC).date() + timedelta(days=away) for source in sources for away in (-1, 0, 1)}
    return set(chain.from_iterable(_parts(f"{day:%Y-%m-%d}") for day in days))


def _parts(date: str) -> Iterator[str]:
    yield date
    yield from (_plain(part) for part in date.split("-"))
