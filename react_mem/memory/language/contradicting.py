"""Claims of texts: subject, numbers and polarity. Claims that differ in number or polarity alone contradict."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import Stemmer

from react_mem.memory.language import UNSPACED, languages_of
from react_mem.memory.language.comparison import content_words, numbers
from react_mem.memory.language.shared import denies, is_denying, spelt, without_counting

_LETTERS = re.compile(rf"(?:(?![{UNSPACED}])[\w'’])+")
_VERB_ENDING = re.compile(r"(?<=[\u30a0-\u30ff\u3400-\u9fff])[\u3040-\u309f]+(?=\s*(?:[。．.!?！？\n]|$))")
"""Kana at the end of a Japanese sentence: a denial ends otherwise there, and is the same before it."""

_stem = Stemmer.Stemmer("english")


class Claim(NamedTuple):
    """Claim of a text.

    Args:
        matter: Its content words in order, stemmed, without numbers and without negations.
        told: The numbers in it, as digits.
        denied: True for a negative claim.
        said: Its content words, unchanged.
    """

    matter: tuple[str, ...]
    told: frozenset[str]
    denied: bool
    said: tuple[str, ...]


def claim_of(text: str) -> Claim:
    """Return the claim of a text, in a language with a file or without.

    >>> claim_of("I have two cats")
    Claim(matter=('cat',), told=frozenset({'2'}), denied=False, said=('two', 'cats'))
    >>> claim_of("Ich mag Tee nicht").matter == claim_of("Ich mag Tee").matter
    True
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    spans = sorted(found.span() for language in languages_of(plain) for found in language.denies.finditer(plain))
    denied = bool(spans) or denies(plain)
    rest = _affirmed(plain, spans) if denied else plain
    told = frozenset(numbers(rest) | spelt(rest))
    left = content_words(_VERB_ENDING.sub("", without_counting(rest)))
    matter = [word for word in left if not (word.isdigit() or (denied and is_denying(word)))]
    return Claim(tuple(_stem.stemWords(matter)), told, denied, tuple(content_words(text)))


def _affirmed(plain: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without the negations at the sorted spans; of one across two words the first word goes."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if first := _LETTERS.match(plain, start):
            while start > at and _LETTERS.match(plain[start - 1]):
                start -= 1
            goes_on = _LETTERS.match(plain, end) and _LETTERS.match(plain, end - 1)
            end = first.end() if goes_on else max(first.end(), end)
        if end > at:
            parts.append(plain[at : max(at, start)])
            at = end
    return "".join([*parts, plain[at:]])
