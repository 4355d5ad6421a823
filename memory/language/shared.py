"""What several languages have, as data: how what is said goes on where no mark stands, and how numbers are spelt.

It decides where the user's words are parted, and never what is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import yaml

from react_mem.memory.language import LANGUAGES, UNSPACED
from react_mem.memory.wording import words


def asks_from(text: str, start: int = 0) -> int | None:
    """Return where a question or a request begins in a text; None where none does.

    Args:
        text: The text, written without punctuation perhaps.
        start: Where to look from.

    >>> text = "I start at three every day which bread can I bake"
    >>> text[asks_from(text) :], asks_from("Trabajo en un banco y tengo dos gatos")
    ('which bread can I bake', None)
    """
    return min((match.start() for one in _ASKING if (match := one.search(text, start))), default=None)


def joins(word: str) -> bool:
    """Return whether a word begins a new part of what is said: "and", "aber".

    >>> joins("und"), joins("bread")
    (True, False)
    """
    return word.casefold() in _JOINING


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, of a language without a file.

    >>> denies("nee leider nich"), denies("Ja, genau")
    (True, False)
    """
    return not _DENYING.isdisjoint(words(text))


def assents(text: str) -> bool:
    """Return whether a text begins with a word that agrees, of a language without a file.

    >>> assents("Sí, por desgracia"), assents("qué va")
    (True, False)
    """
    return not _ASSENTING.isdisjoint(words(text)[:1])


def spelt(text: str) -> set[str]:
    """Return the numbers that a text has as words, as digits.

    >>> sorted(spelt("Wir sind fünf Leute")), sorted(spelt("四人家族です"))
    (['5'], ['4'])
    """
    found = {_COUNTING[word] for word in words(text) if word in _COUNTING}
    return found | {number for word, number in _DENSE_COUNTING.items() if word in text}


def _load() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(
        (resources.files("react_mem.memory.language") / "shared.yaml").read_text("utf-8")
    )
    return read


def _patterns(asking: Mapping[str, list[str]]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    dense = {one.code for one in LANGUAGES if one.unspaced}
    unspaced = "|".join(f"(?:{one})" for code in asking if code in dense for one in asking[code])
    spaced = "|".join(f"(?:{one})" for code in asking if code not in dense for one in asking[code])
    flags = re.IGNORECASE | re.VERBOSE
    return re.compile(rf"(?<![^\W{UNSPACED}])(?:{spaced})", flags), re.compile(unspaced, flags)


def _numbers(counting: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    listed = [line.split() for line in counting.values()]
    forms = [[tuple(one.split("/")) for one in line] for line in listed] + [list(one.number_words) for one in LANGUAGES]
    return ((word, str(number)) for line in forms for number, one in enumerate(line) for word in one)


_DATA = _load()
_ASKING = _patterns(_DATA["asking"])
_JOINING, _DENYING, _ASSENTING = (
    frozenset(word for line in _DATA[name].values() for word in line.split())
    for name in ("joining", "denying", "assenting")
)
_COUNTING = dict(_numbers(_DATA["counting"]))
_DENSE_COUNTING = {word: number for word, number in _COUNTING.items() if re.search(f"[{UNSPACED}]", word)}
