"""Text normalisation, in which hasty and careful spelling compare equal; names in one form, and their likeness."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_VOICING = "\u3099\u309a"
"""The marks of kana. Nobody leaves them out: a letter with one is another letter, as が is not か."""

_MAX_KNOWN = 0x1_0000  # characters from here on are computed each time, so that nobody can fill the cache


class _Bare(dict[int, str]):
    """Cache: character -> the character without its diacritics."""

    def __missing__(self, code: int) -> str:
        letter = "d" if code == ord("đ") else "D" if code == ord("Đ") else chr(code)
        parts = unicodedata.normalize("NFKD", letter)
        bare = "".join(part for part in parts if part in _VOICING or not unicodedata.combining(part))
        if code < _MAX_KNOWN:
            self[code] = bare
        return bare


_BARE = _Bare()


def unmarked(text: str) -> str:
    """Return text without diacritics, in composed form (NFC).

    >>> unmarked("Đà Nẵng, Café, が")
    'Da Nang, Cafe, が'
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_BARE))


def fold(text: str) -> str:
    """Return text without case, width and diacritics: "Hà Nội" is often typed "ha noi".

    >>> fold("Đà Nẵng, Café")
    'da nang, cafe'
    """
    if text.isascii():
        return text.lower()
    # what one sign stands for may have case: "㎅"
    return unmarked(unicodedata.normalize("NFKC", text).casefold())


# A text as it is compared, and how much of one is read.

_LETTER = re.compile(r"[^\W_]")

MAX_INDEXED_CHARS = 2_000
"""Characters that one vector can represent: e5 reads 512 tokens, about 2,000 characters.
The whole text is stored with it.
"""


def normalise(text: str) -> str:
    """Return text in one Unicode form, without case, extra white space and closing punctuation.

    Diacritics stay: in Vietnamese they carry meaning.

    >>> normalise("  Hà  Nội. ") == normalise("hà nội")
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .!?;,…。！？")


def edges(text: str, chars: int, between: str = "\n") -> str:
    """Return the beginning and the end of a long text, each of so many characters; a shorter text unchanged."""
    return text if len(text) <= 2 * chars else f"{text[:chars]}{between}{text[-chars:]}"


def has_words(text: str) -> bool:
    """Return true if a text has a letter or a digit of any script: mere signs teach nothing.

    >>> has_words("Huế"), has_words("46"), has_words("👍🏽 🎉 ... _")
    (True, True, False)
    """
    return _LETTER.search(text) is not None


# Names in one form, and their likeness by letters, which alone never decides that two names are one: "Nguyễn Văn An"
# and "Nguyễn Văn Anh" are more alike than most misspellings. Marks stay: Hoa and Hoà are two people.

_WORD = re.compile(r"[^\W_](?:[\w'’&.-]*[^\W_])?")
_POSSESSIVE = re.compile(r"['’]s$")
_ARTICLES = {"the", "a", "an"}
_GRAM = 3

_MIN_FOLDED = 5
"""Least letters for two words that differ in Vietnamese marks alone, one of them typed without any, to be one name:
Hanoi and Hà Nội; but not ma and má.
"""


@lru_cache(maxsize=10_000)
def name_key(name: str) -> str:
    """Return a name in one form: its words in order, without case, article, emoji and outer punctuation.

    >>> name_key("the Louvre 🎨"), name_key("ANNA  Schmidt’s"), name_key("Má") == name_key("ma")
    ('louvre', 'anna schmidt', False)
    """
    words = [_POSSESSIVE.sub("", word) for word in _WORD.findall(name)]
    # with a capital it is a name: An, The
    if len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return normalise(" ".join(words))


def joined(key: str) -> str:
    """Return a key as one word, marks included: VinFast, Vin Fast and Vin-Fast.

    >>> joined("vin fast") == joined("vin-fast") == joined("vinfast")
    True
    """
    return re.sub(r"[\W_]+", "", key)


@lru_cache(maxsize=10_000)
def spelling(key: str) -> str:
    """Return a key as one word without marks if it is long enough to stay unambiguous; else unchanged.

    >>> spelling("hà nội"), spelling("hanoi"), spelling("má")
    ('hanoi', 'hanoi', 'má')
    """
    whole = joined(key)
    plain = fold(whole)
    return plain if len(plain) >= _MIN_FOLDED else key


def is_marked(key: str) -> bool:
    """Return true for a key with diacritics."""
    whole = joined(key)
    return fold(whole) != whole


def is_part(short: str, long: str) -> bool:
    """Return true for a key that begins or ends a longer one: a first or a last name.

    >>> is_part("anna", "anna schmidt"), is_part("nam", "nguyễn văn nam"), is_part("ann", "anna schmidt")
    (True, True, False)
    """
    return short != long and (long.startswith(f"{short} ") or long.endswith(f" {short}"))


def is_initials(short: str, long: str) -> bool:
    """Return true for a name, as it is written, that is the initials of another.

    >>> is_initials("HCMC", "Ho Chi Minh City"), is_initials("ĐHBK", "Đại học Bách khoa"), is_initials("An", "Anna Lee")
    (True, True, False)
    """
    letters = joined(short)
    words = _WORD.findall(long)
    if not 2 <= len(letters) == len(words) or letters != letters.upper() or letters == letters.lower():
        return False
    return normalise(letters) == "".join(normalise(word[0]) for word in words)


def likeness(one: str, other: str) -> float:
    """Return the likeness of two keys by their letters, from 0 to 1: the share of trigrams in common.

    >>> likeness("schwarzenegger", "schwarzeneger") > 0.7 > likeness("paris", "london")
    True
    """
    a, b = grams(one), grams(other)
    return len(a & b) / len(a | b)


def numbers(key: str) -> list[str]:
    """Return the numbers in a key: an iPhone 14 and an iPhone 15 differ."""
    return re.findall(r"\d+", unicodedata.normalize("NFKC", key))


@lru_cache(maxsize=10_000)
def grams(key: str) -> frozenset[str]:
    """Return the trigrams of a key, with blanks at both ends."""
    padded = f"  {joined(key)} "
    return frozenset(padded[place : place + _GRAM] for place in range(len(padded) - _GRAM + 1))
