"""Hallucination check: names and numbers of a text that none of its sources has, without the rules of a language.

Capitals mark names, so in a script without them only numbers are compared. The first word of a sentence is not taken
for a name: to accuse "Discussed" of being invented helps nobody.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain

from react_mem.memory.language import LANGUAGES, has_capital_nouns, pattern_of
from react_mem.memory.language.comparison import Vocabulary, content_words
from react_mem.memory.language.folding import fold
from react_mem.memory.language.statements import sentences

_WORD = pattern_of(r"[^\W\d_]+")

_DATE = r"\d{4}-\d{2}-\d{2}"
_PART = pattern_of(rf"{_DATE}|\d+(?:[.,:/]\d+)*")
# Phone numbers and "12 500 000": one number with gaps, or several.
_RUN = pattern_of(rf"{_DATE}(?!\d)|\d+(?:[.,:/ -]\d+)*")
_GROUPED = pattern_of(r"\d{1,3}(?:[.,]\d{3})+")
_DECIMAL = pattern_of(r"(\d+)[.,](\d+)")
_DIGITS = pattern_of(r"\d+")
_NAME = pattern_of(r"[^\W_](?:[\w'’&.-]*[^\W_])?")
_SPELT = {word: str(number) for one in LANGUAGES for number, words in enumerate(one.number_words) for word in words}
_NO_NAMES = {"i", "user", "assistant", "agent", "ai", *map(fold, (*calendar.month_name, *calendar.day_name))}

_MAX_CAPITALS = 0.4  # share of capitalised words above which capitals mark no names, as in headlines and shouting
_MIN_JUDGED = 12  # least words for that share to mean something
_JUDGED_CHARS = 2_000  # characters of the sources that show their language
_NEAR_DAYS = 7
"""Days around a message that "last Friday" and "next Tuesday" may mean; a message may be dated by its neighbours."""

_MIN_SHARE = 0.25  # least share of a sentence's words in its sources: a sentence about another subject has fewer
_MIN_SHARED = 5  # least words for that share to mean something


class Told:
    """Sources against which derived texts are checked, read once in linear time; keep it off the event loop.

    A derived text may give the dates that "today" and "last Friday" mean at the times `at` of the sources.
    """

    def __init__(self, texts: Iterable[str], at: Iterable[datetime] = ()) -> None:
        self._texts = list(texts)
        self._beginning = "\n".join(self._texts)[:_JUDGED_CHARS]
        self._days = set(at)

    def invented(self, text: str) -> list[str]:
        """Return the names and numbers of a text that no source has, each once.

        >>> Told(["We meet Lan in Hue at 7:30."]).invented("They meet Lan in Paris at 8:30.")
        ['Paris', '8:30']
        """
        # so little may be said that the text itself tells as much of its language
        capitals = marks_names(f"{self._beginning}\n{text}")
        unknown = [name for name in names(text, capitals) if self._named.missing(name)]
        return [*unknown, *unknown_numbers(text, self._values)]

    def bears_out(self, sentence: str) -> bool:
        """Return true if a sentence can come from the sources: its names, numbers and words."""
        wanted, share = len(content_words(sentence)), self.share(sentence)
        # a number that the sources have is as good as a word
        alone = wanted > 1 and not share and not numbers(sentence)
        far = share < _MIN_SHARE and (wanted >= _MIN_SHARED or alone)
        return not far and not self.invented(sentence)

    def share(self, text: str) -> float:
        """Return the share of a text's words in the sources; numbers, which have many spellings, do not count."""
        return self._words.share(_DIGITS.sub(" ", text))

    def held(self, text: str) -> str:
        """Return a text without its unsupported sentences.

        >>> Told(["I live in Hue with 2 cats."]).held("User lives in Hue. User has 3 dogs.")
        'User lives in Hue.'
        """
        kept = [sentence for sentence in sentences(text) if self.bears_out(sentence)]
        return "".join(one if one[-1] in "。！？" else f"{one} " for one in kept).strip()

    @cached_property
    def _words(self) -> Vocabulary:
        return Vocabulary(self._texts)

    @cached_property
    def _named(self) -> Vocabulary:
        return Vocabulary(self._texts, names=True)

    @cached_property
    def _values(self) -> set[str]:
        return set(chain(values("\n".join(self._texts)), *map(_dates, self._days)))


def names(text: str, capitals: bool | None = None) -> list[str]:
    """Return the names in a text, each once, in order; `capitals` tells if capitals mark names (None: see the text).

    >>> names("Yesterday Minh went to Hà Nội. He liked it.")
    ['Minh', 'Hà', 'Nội']
    """
    within = (word for one in sentences(unicodedata.normalize("NFC", text)) for word in _NAME.findall(one)[1:])
    written = [word for word in within if word[0].isupper()]
    found = {fold(word): word for word in written if fold(re.split("['’]", word)[0]) not in _NO_NAMES}
    if capitals is None and found:
        capitals = marks_names(text)
    return [] if capitals is False else list(found.values())


def marks_names(text: str) -> bool:
    """Return true if capitals mark names in a text, and not every noun or every word.

    >>> marks_names("Ich will mit dem Zug eine Reise nach Wien machen und dort in das Museum gehen.")
    False
    """
    words = [word for one in sentences(unicodedata.normalize("NFC", text)) for word in _NAME.findall(one)[1:]]
    capitals = sum(word[0].isupper() and len(word) > 1 for word in words)
    shouted = len(words) >= _MIN_JUDGED and capitals > _MAX_CAPITALS * len(words)
    return not shouted and not has_capital_nouns(text)


def numbers(text: str) -> list[str]:
    """Return the numbers of a text as they are written, each once, in order.

    >>> numbers("On 2026-11-20 we paid 12,500 dong for 3 of them")
    ['2026-11-20', '12,500', '3']
    """
    return list({_value(part): part for part in _PART.findall(_digits(text))}.values())


def unknown_numbers(text: str, known: set[str]) -> list[str]:
    """Return the numbers of a text that are not among the `values` of its sources, each once."""
    found: dict[str, str] = {}
    for run in _RUN.findall(_digits(text)):
        if _joined(run) not in known:
            found |= {_value(part): part for part in _PART.findall(run) if _value(part) not in known}
    return list(found.values())


def values(text: str) -> set[str]:
    """Return every number that a text can be said to hold: 7:30 holds 7 as well, and "three" and 三 are 3."""
    digits = _digits(text)
    found = {_joined(run) for run in _RUN.findall(digits)}
    for part in _PART.findall(digits):
        found |= {_value(part), *(_value(one) for one in _DIGITS.findall(part))}
    found |= {_SPELT[word] for word in _WORD.findall(text.casefold()) if word in _SPELT}
    # single characters, such as 三 and ½
    single = ((letter, unicodedata.numeric(letter, -1.0)) for letter in set(text) if not letter.isascii())
    return found | {_SPELT.get(letter, f"{value:g}") for letter, value in single if value >= 0 or letter in _SPELT}


def _digits(text: str) -> str:
    """Return a text with the digits of every script written alike."""
    plain = unicodedata.normalize("NFKC", text)
    return plain if plain.isascii() else "".join(str(int(c)) if c.isdecimal() else c for c in plain)


def _value(number: str) -> str:
    """Return a number in one form: 1,000 and 1.000 and 1000; 3,50 and 3.5; 07:30 and 7:30.

    >>> _value("1,000"), _value("3,50"), _value("07:30"), _value("2026-11-20")
    ('1000', '3.5', '7:30', '2026-11-20')
    """
    if _GROUPED.fullmatch(number):
        return re.sub("[.,]", "", number)
    if decimal := _DECIMAL.fullmatch(number):
        return f"{_plain(decimal[1])}.{decimal[2].rstrip('0')}".rstrip(".")
    return number if re.fullmatch(_DATE, number) else _DIGITS.sub(lambda digits: _plain(digits[0]), number)


def _plain(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _joined(run: str) -> str:
    return "".join(_DIGITS.findall(run)) if re.search("[ -]", run) else _value(run)


def _dates(at: datetime) -> Iterator[str]:
    """Yield the days near a message that its words may mean; of the nearest also year, month and day."""
    for away in range(-_NEAR_DAYS, _NEAR_DAYS + 1):
        date = f"{at.astimezone(UTC).date() + timedelta(days=away):%Y-%m-%d}"
        yield date
        if abs(away) <= 1:
            yield from map(_plain, date.split("-"))
