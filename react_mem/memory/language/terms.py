"""Terms of a text in one form, to compare a question with its answer, or two wordings."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

from react_mem.memory.language import LANGUAGES, UNSPACED, pattern_of
from react_mem.memory.language.folding import fold

_STEM = 6  # six letters tell English words apart well enough, and "allergic" from "allergy" not at all
_UNSPACED_RUN = pattern_of(f"[{UNSPACED}]+")
_HAN = pattern_of("[\u3400-\u9fff]")


_ENDINGS = tuple(ending for language in LANGUAGES for ending in language.endings)


def _stem(word: str) -> str:
    """Return a word without its ending; short words, such as Vietnamese syllables, stay as they are.

    >>> _stem("lives") == _stem("living") == _stem("live"), _stem("allergic") == _stem("allergies")
    (True, True)
    """
    if not word.isascii():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:_STEM]


_SPACED = [language for language in LANGUAGES if not language.unspaced]
_STOP = frozenset().union(*(language.stop for language in _SPACED))
# For those who type Vietnamese without diacritics; compared with the unfolded word, so that "tối" is not "tôi".
_STOP_FOLDED = frozenset(map(fold, _STOP))
_STOP_UNSPACED = pattern_of(
    "|".join(
        sorted(
            (re.escape(word) for language in LANGUAGES if language.unspaced for word in language.stop),
            key=len,
            reverse=True,
        )
    )
    or "(?!)"
)
_SAME = {_stem(fold(word)): _stem(fold(head)) for one in _SPACED for word, head in one.same.items()}
_SAME_UNSPACED = {word: head for one in LANGUAGES if one.unspaced for word, head in one.same.items()}
_ANY_SAME_UNSPACED = pattern_of("|".join(sorted(map(re.escape, _SAME_UNSPACED), key=len, reverse=True)) or "(?!)")


def content_terms(text: str) -> set[str]:
    """Return the telling words of a text, folded so that forms of one word are equal, with or without diacritics.

    Of scripts without spaces, each pair of neighbouring letters is a term, and each Chinese character.

    >>> content_terms("Where do I live?") == content_terms("I lived there")
    True
    """
    found: set[str] = set()
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()):
        for run in _UNSPACED_RUN.findall(word):
            found |= _unspaced_terms(run)
        for part in _UNSPACED_RUN.split(word):
            if part and part not in _STOP and part not in _STOP_FOLDED:
                stem = _stem(fold(part))
                found.add(_SAME.get(stem, stem))
    return found


def _unspaced_terms(run: str) -> set[str]:
    same = {_SAME_UNSPACED[word] for word in _ANY_SAME_UNSPACED.findall(run)}
    parts = [part for part in _STOP_UNSPACED.split(_ANY_SAME_UNSPACED.sub("\u3000", run)) if part]
    pieces = [piece for part in parts for piece in part.split("\u3000") if piece]
    pairs = {piece[at : at + 2] for piece in pieces for at in range(len(piece) - 1)}
    return same | pairs | {letter for piece in pieces for letter in piece if _HAN.match(letter)}


# Text as the words that find it: folded, stemmed, without what every sentence has.

_MARKS = "".join(chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code)).startswith("M"))
"""Marks that belong to a word without being letters: vowels of Hindi or Thai, an accent apart from its letter."""

_WORD = pattern_of(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*")
_POSSESSIVE = pattern_of(r"['’](?:s|d|m|ll|re|ve|t)\b")
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_UNSPACED = pattern_of(f"[{_UNSPACED_SCRIPTS}]")
"""Scripts without spaces between words: each pair of characters counts as a word."""
_RUN = pattern_of(f"[{_UNSPACED_SCRIPTS}][{_UNSPACED_SCRIPTS}{_MARKS}]*|[^{_UNSPACED_SCRIPTS}]+")

_COMMON = frozenset(fold(word) for one in LANGUAGES if not one.unspaced for word in one.unsearched)
"""Function words and everyday phrases of all languages with a file; folded, as often typed."""

_stem_of_indexed_words = Stemmer.Stemmer("english")


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
    """Return the terms of a text for full-text search, in order, repetitions included.

    Every word is stemmed as English: the words of other languages are stemmed alike everywhere, so little is lost. A
    word with diacritics counts unfolded as well: with them it tells more.

    >>> index_terms("She was painting the kitchens")
    ['paint', 'kitchen']
    """
    found: list[str] = []
    for word in _WORD.findall(_POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", text).casefold())):
        found += _terms_of(word)
    return found


@lru_cache(maxsize=50_000)
def _terms_of(word: str) -> tuple[str, ...]:
    if word.isascii():
        return (
            ()
            if word in _COMMON or (len(word) == 1 and not word.isdigit())
            else (_stem_of_indexed_words.stemWord(word),)
        )
    if _UNSPACED.search(word):
        return tuple(term for run in _pairs(word) for term in ((run,) if _UNSPACED.search(run) else _terms_of(run)))
    folded = fold(word)
    if not folded or folded in _COMMON or (len(folded) == 1 and not folded.isdigit()):
        return ()
    return tuple(dict.fromkeys((_stem_of_indexed_words.stemWord(folded), unicodedata.normalize("NFC", word))))


def _pairs(word: str) -> list[str]:
    """Return a word partly in a script without spaces as pairs of characters, and its rest unchanged."""
    found: list[str] = []
    for run in _RUN.findall(word):
        pairs = [run[place : place + 2] for place in range(max(1, len(run) - 1))]
        found += pairs if _UNSPACED.search(run) else [run]
    return found
