"""Language identification without a model: whether a text is in the language of some others.

By script for every language, by small words for those with a file; where neither tells them apart, they are taken for
the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from react_mem.memory.language import LANGUAGES

_DENSE_SCRIPTS = ("HAN", "KANA", "HANGUL")
"""One letter of these says about as much as two of an alphabet."""

_MIN_SCRIPT = 0.2
"""The share of a conversation that is written in a script from which on a text in that script belongs to it."""

_MIN_KANA = 0.1
"""Japanese has more kana among its characters than this, Chinese none."""

_MIN_HAN = 6
"""Characters without any kana from which on they are not Japanese."""

_SPOKEN = 0.12
"""The share of a text's words that are small words of its language, at least."""

_HEARD = 0.04
"""The share of a conversation's words that are small words of a language that it is held in, among others."""

_TERSE = 0.25
"""The same for short words as well, which other languages have some of: "Plan a trip to Hue" has no others."""

_MIN_TELLING = 2
_MIN_WORDS = 12
"""Words from which on those shares say something."""

_WORD = re.compile(r"[^\W\d_]+")


class Speech:
    """The language of a conversation. It is read once, in linear time.

    Args:
        said: What was said.

    >>> vietnamese = Speech(["Tôi sống ở Huế và rất thích nơi này"])
    >>> vietnamese.has("User lives in Hue."), vietnamese.has("The user told that they live in Hue.")
    (True, False)
    >>> Speech(["I live in Hanoi."]).has("用户住在河内。"), Speech(["私は河内に住んでいます"]).has("用户住在河内。")
    (False, False)
    """

    def __init__(self, said: Iterable[str]) -> None:
        text = unicodedata.normalize("NFKC", "\n".join(said))
        self._scripts = _scripts(text)
        self._words = _Words.of(text)

    def has(self, text: str) -> bool:
        """Return whether a text is in this language, as far as script and small words tell.

        Args:
            text: The text.
        """
        text = unicodedata.normalize("NFKC", text)
        return self._same_script(_scripts(text)) and _same_words(_Words.of(text), self._words)

    def _same_script(self, mine: Counter[str]) -> bool:
        theirs = self._scripts
        if not mine or not theirs:
            return True
        for one, other in ((mine, theirs), (theirs, mine)):
            # Japanese on one side, Chinese on the other
            japanese = one["KANA"] >= _MIN_KANA * (one["HAN"] + one["KANA"]) > 0
            if japanese and not other["KANA"] and other["HAN"] >= _MIN_HAN:
                return False
        main = max(_weights(mine).items(), key=lambda weight: weight[1])[0]
        weights = _weights(theirs)
        return weights.get(main, 0) >= _MIN_SCRIPT * sum(weights.values())


@dataclass(frozen=True)
class _Words:
    """Word counts of a text: all, and the small words of each language with spaces.

    Args:
        count: All of them.
        small: The small words.
        telling: Those of them that are not also words of half of Europe, as "a", "me" and "no" are.
    """

    count: int
    small: Counter[str]
    telling: Counter[str]

    @classmethod
    def of(cls, text: str) -> _Words:
        words = _WORD.findall(unicodedata.normalize("NFC", text).casefold())
        telling = (word for word in words if len(word) > 2 or not word.isascii())
        return cls(len(words), _small_words(words), _small_words(telling))

    @property
    def language(self) -> str:
        """The code of the language that the text is in; empty where none tells."""
        found = self.telling.most_common(1)
        return found[0][0] if found and found[0][1] >= max(_MIN_TELLING, _SPOKEN * self.count) else ""

    def has(self, language: str) -> bool:
        """Return whether some of the text may be in a language; a text of few words may be in any."""
        if self.count < _MIN_WORDS and not self.language:
            return True
        some = self.telling[language] >= max(_MIN_TELLING, _HEARD * self.count)
        return some or self.small[language] >= _TERSE * self.count


def _same_words(one: _Words, other: _Words) -> bool:
    return one.language == other.language or (
        (not one.language or other.has(one.language)) and (not other.language or one.has(other.language))
    )


def _small_words(words: Iterable[str]) -> Counter[str]:
    return Counter(language for word in words for language in _SPEAKS.get(word, ()))


def _scripts(text: str) -> Counter[str]:
    return Counter(script for letter in text if letter.isalpha() and (script := _script_of(letter)))


def _weights(scripts: Counter[str]) -> dict[str, int]:
    """Return how much is written in each script; Chinese characters and kana are one."""
    weights: dict[str, int] = {}
    for script, letters in scripts.items():
        one = "HAN" if script == "KANA" else script
        weights[one] = weights.get(one, 0) + letters * (2 if script in _DENSE_SCRIPTS else 1)
    return weights


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    script = unicodedata.name(letter, "").split("-")[0].split(" ")[0]
    return {"CJK": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA"}.get(script, script)


_SPEAKS: dict[str, tuple[str, ...]] = {}
for _one in LANGUAGES:
    for _word in frozenset[str]() if _one.unspaced else _one.small_words | _one.stop:
        _SPEAKS[_word] = (*_SPEAKS.get(_word, ()), _one.code)
