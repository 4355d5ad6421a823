"""Word overlap of two texts, in any form of the words and without the rules of a language.

It answers if a sentence can have been drawn from another, not if it means the same: negations and moods are the
model's to judge (`memory.write.extraction`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from math import ceil

from react_mem.memory.language import LANGUAGES, UNSPACED, pattern_of
from react_mem.memory.language.folding import fold

_WORD = pattern_of(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+")
_UNSPACED_RUN = pattern_of(f"[{UNSPACED}]+")
_NUMBER = pattern_of(r"\d+(?:[.,:]\d+)*")

_COMMON_START = 4  # letters shared by two forms of a word: "live" and "lives", "reise" and "reisen"
_SPACED = tuple(one for one in LANGUAGES if not one.unspaced)

_MIN_LINK = 4  # least letters of a linking word: in a language without a file shorter words are mostly function words
_STEM = 5  # letters of a linking word that count: "allergic" and "allergy"
_ENDING = 3  # letters in which forms of a word may differ beyond the shared start: "live" and "living"
_NAME_START = 0.6
"""Share of a name that its forms begin with: "Japan" and "Japanese" are one, "Hanoi" and "Hanover" are two."""

_FUNCTION_WORDS = frozenset[str]().union(*(one.stop | one.hollow for one in LANGUAGES if not one.unspaced)) | {
    "user",
    "person",
}
"""Function words of every language with a file; in other languages every word counts."""


def words(text: str) -> list[str]:
    """Return the words of a text, case-folded; of a script without spaces each character is one.

    >>> words("I live in Hà Nội"), words("住在河内")
    (['i', 'live', 'in', 'hà', 'nội'], ['住', '在', '河', '内'])
    """
    return _WORD.findall(unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold()))


def word_ends(text: str) -> list[tuple[str, int]]:
    """Return the words of a text, folded, each with its end in the text's composed form (NFKC).

    >>> word_ends("Ở Huế, à")
    [('o', 1), ('hue', 5), ('a', 8)]
    """
    return [(fold(word[0]), word.end()) for word in _WORD.finditer(unicodedata.normalize("NFKC", text))]


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each word of a text."""
    return (found.span() for found in _WORD.finditer(text))


def content_words(text: str) -> list[str]:
    """Return the words of a text that are not function words of a language with a file.

    >>> content_words("I live in Hue")
    ['live', 'hue']
    """
    return [word for word in words(_POSSESSIVE.sub("", text)) if word not in _FUNCTION_WORDS]


_POSSESSIVE = pattern_of(r"(?<=\w)['’]s\b", re.IGNORECASE)


def _stems(word: str, least: float = 0) -> set[str]:
    """Return the beginnings of a folded word that its forms may share, each at least a `least` part of the word."""
    if word.isdigit():
        return set()
    shortest = max(_COMMON_START, len(word) - _ENDING, ceil(least * len(word)))
    return {word[:end] for end in range(shortest, len(word) + 1)}


def missing(text: str, known: Iterable[str]) -> list[str]:
    """Return the content words of a text that no other text has."""
    return Vocabulary(known).missing(text)


def share(text: str, known: Iterable[str]) -> float:
    """Return the share of a text's content words that other texts have; 0 for a text without any.

    >>> share("User lives in Rome", ["I live in Oslo"])
    0.5
    """
    return Vocabulary(known).share(text)


@lru_cache(maxsize=1024)
def may_link(word: str) -> bool:
    """Return true for a content word that is unlikely to be a function word of a language without a file."""
    # a language with a file has its function words left out already, and the words of some are short: Vietnamese
    return len(word) >= _MIN_LINK or word.isdigit() or any(one.letters and one.letters.search(word) for one in _SPACED)


def linking_words(*texts: str) -> frozenset[str]:
    """Return the terms that link texts with others on its subject: beginnings of its longer words, numbers, names.

    Of a script without spaces these are the pairs of neighbouring letters.

    >>> sorted(linking_words("I live in Hue")), sorted(linking_words("住在河内"))
    (['hue', 'live'], ['住在', '在河', '河内'])
    """
    found = set[str]()
    for text in texts:
        found.update(fold(word)[:_STEM] for word in content_words(text) if may_link(word))
        found.update(fold(name)[:_STEM] for name in names(text))
        for run in _UNSPACED_RUN.findall(unicodedata.normalize("NFKC", text)):
            found |= {run[at : at + 2] for at in range(len(run) - 1)} or {run}
    return frozenset(found)


def numbers(text: str) -> set[str]:
    """Return the numbers in a text, as digits.

    >>> sorted(numbers("room 12, at 7:30"))
    ['12', '7:30']
    """
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def names(text: str) -> set[str]:
    """Return the words written as names: with a capital, where no sentence begins.

    >>> sorted(names("My sister Linh lives in Hà Nội."))
    ['Hà', 'Linh', 'Nội']
    """
    found: set[str] = set()
    for sentence in re.split(r"(?<=[.!?…:])\s+|\n", text):
        _, *rest = _LETTERS.findall(sentence) or [""]
        found |= {word for word in rest if word[0].isupper() and len(word) > 1}
    return found


_LETTERS = pattern_of(r"[^\W\d_]+")


class Vocabulary:
    """The words of some texts, in any form; two neighbours may be one word: "Hanoi" is Hà Nội.

    Where `names` are looked up, fewer words count as forms of one.
    """

    def __init__(self, texts: Iterable[str], *, names: bool = False) -> None:
        self._least = _NAME_START if names else 0
        self._folded: set[str] = set()
        self._stems: set[str] = set()
        for text in texts:
            found = [fold(word) for word in words(text)]
            self._folded.update(found, map("".join, pairwise(found)))
            self._stems.update(*(_stems(word, self._least) for word in found))

    def missing(self, text: str) -> list[str]:
        """Return the content words of a text that are not in the vocabulary, each once."""
        return [word for word in dict.fromkeys(content_words(text)) if word not in self]

    def share(self, text: str) -> float:
        """Return the share of a text's content words in the vocabulary; 0 for a text without any."""
        wanted = set(content_words(text))
        return 1 - len(self.missing(text)) / len(wanted) if wanted else 0.0

    def __contains__(self, word: str) -> bool:
        """Return true if some form of a word is in the vocabulary."""
        folded = fold(word)
        return folded in self._folded or not self._stems.isdisjoint(_stems(folded, self._least))
