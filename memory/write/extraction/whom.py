"""Subject of a fact: the user, or somebody who is named in what was shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from react_mem.memory.language.comparison import Vocabulary, content_words, names, share, words
from react_mem.memory.language.lowering import is_of_oneself, is_oneself

MAX_ABOUT = 80
_NAMED = 0.8
"""Share of the words of whom a fact is about that were shown: "my aunt's son" may be named by his aunt and as a son."""


def about_whom(about: str, shown: Sequence[str], quote: str = "") -> str:
    """Return whom a fact is about, where that is named in what was shown and its words do not begin with "I"."""
    name = " ".join(about.split())
    if not name or len(name) > MAX_ABOUT or name.casefold() == "user" or is_oneself(name):
        return "user"
    if is_of_oneself(quote) and share(name, [quote]) == 0:
        return "user"
    if content_words(name) and share(name, shown) < _NAMED:
        return "user"
    # "she" is no name; "An" is one, though it is a word as well
    is_named = content_words(name) or set(_LETTERS.findall(name)) <= set[str]().union(*map(names, shown))
    return name if is_named else "user"


def is_said(value: str, said: str) -> bool:
    """Return whether a text has all words of a value, those of little content too: "An" is a name."""
    vocabulary = Vocabulary([said])
    return all(word in vocabulary for word in words(value))


_LETTERS = re.compile(r"[^\W\d_]+")
