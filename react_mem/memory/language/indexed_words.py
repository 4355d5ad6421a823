"""Text as the words that find it: folded, stemmed, without what every sentence has."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.folding import fold

_MARKS = "".join(chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code)).startswith("M"))
"""Signs that are part of a word though they are not letters: the vowels of Hindi or Thai, an accent with no letter of
its own."""

_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*")
_POSSESSIVE = re.compile(r"['’](?:s|d|m|ll|re|ve|t)\b")
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_UNSPACED_SCRIPTS}]")
"""Scripts that do not put spaces between words: two characters in a row are taken for a word."""
_RUN = re.compile(f"[{_UNSPACED_SCRIPTS}][{_UNSPACED_SCRIPTS}{_MARKS}]*|[^{_UNSPACED_SCRIPTS}]+")

_COMMON = frozenset(fold(word) for one in LANGUAGES if not one.unspaced for word in one.unsearched)
"""Function words, and what people say in every other sentence, of all languages with a file; folded, as often typed."""

_stem = Stemmer.Stemmer(LANGUAGES[0].stemmer)


def index_words(text: str) -> list[str]:
    """Return the words of a text, folded, in order.

    >>> index_words("Ann's café")
    ['ann', 'cafe']
    """
    found: list[str] = []
    for word in _WORD.findall(_POSSESSIVE.sub(" ", fold(text))):
        found += _pairs(word) if _UNSPACED.search(word) else [word]
    return found


def index_terms(text: str) -> list[str]:
    """Return what of a text counts when texts are compared by words, in order, repetitions included.

    A word is stemmed as English: of other languages' words, which are stemmed in the same way wherever they stand,
    little is lost. One with diacritics counts as it stands as well: with them it says more.

    >>> index_terms("She was painting the kitchens")
    ['paint', 'kitchen']
    >>> index_terms("bánh mì")
    ['banh', 'bánh', 'mi', 'mì']
    >>> index_terms("喜欢Python")
    ['喜欢', 'python']
    """
    found: list[str] = []
    for word in _WORD.findall(_POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", text).casefold())):
        found += _terms_of(word)
    return found


@lru_cache(maxsize=50_000)
def _terms_of(word: str) -> tuple[str, ...]:
    if word.isascii():
        return () if word in _COMMON or (len(word) == 1 and not word.isdigit()) else (_stem.stemWord(word),)
    if _UNSPACED.search(word):
        return tuple(term for run in _pairs(word) for term in ((run,) if _UNSPACED.search(run) else _terms_of(run)))
    folded = fold(word)
    if not folded or folded in _COMMON or (len(folded) == 1 and not folded.isdigit()):
        return ()
    return tuple(dict.fromkeys((_stem.stemWord(folded), unicodedata.normalize("NFC", word))))


def _pairs(word: str) -> list[str]:
    """Return a word of which some is in a script without spaces as pairs of characters, and the rest as it is."""
    found: list[str] = []
    for run in _RUN.findall(word):
        pairs = [run[place : place + 2] for place in range(max(1, len(run) - 1))]
        found += pairs if _UNSPACED.search(run) else [run]
    return found
