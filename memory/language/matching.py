"""Language identification without a model: whether a text is in the language of some others.

By script for every language, by small words for those with a file; where neither tells them apart, they are taken for
the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from memory.language import LANGUAGES, Language

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

_MIN_WORDS = 12
"""Words from which on that share says something."""

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
        self._words = len(_WORD.findall(text))
        self._small = _small_words(text)
        self._language = spoken(text)

    def has(self, text: str) -> bool:
        """Return whether a text is in this language, as far as script and small words tell.

        Args:
            text: The text.
        """
        text = unicodedata.normalize("NFKC", text)
        return self._same_script(_scripts(text)) and self._same_words(text)

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

    def _same_words(self, text: str) -> bool:
        mine, theirs = spoken(text), self._language
        if mine is theirs:
            return True
        if mine is not None:
            few = self._words < _MIN_WORDS and theirs is None
            return few or self._small[mine.code] >= max(1, _HEARD * self._words)
        assert theirs is not None  # noqa: S101 - narrows for the type checker
        return len(_WORD.findall(text)) < _MIN_WORDS or _small_words(text)[theirs.code] > 1


def spoken(text: str) -> Language | None:
    """Return the language whose small words a text has, of those with spaces and a file; None where none tells.

    >>> spoken("I live in Hue, and this is my house.").code, spoken("Vivo en Hue con mi familia")
    ('en', None)
    """
    heard = _small_words(text)
    words = len(_WORD.findall(text))
    best = max(heard, key=lambda one: heard[one], default=None)
    return _BY_CODE[best] if best and heard[best] > 1 and heard[best] >= _SPOKEN * words else None


def _small_words(text: str) -> Counter[str]:
    """Return how many small words of each language with spaces a text has: those that no other language has as well."""
    found: Counter[str] = Counter()
    for word in _WORD.findall(unicodedata.normalize("NFC", text).casefold()):
        # "a", "me" and "no" are words of half of Europe
        if len(word) > 2 or not word.isascii():
            found.update(_SPEAKS.get(word, ()))
    return found


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


_BY_CODE = {one.code: one for one in LANGUAGES if not one.unspaced}
_SPEAKS: dict[str, tuple[str, ...]] = {}
for _one in _BY_CODE.values():
    for _word in _one.small_words | _one.stop:
        _SPEAKS[_word] = (*_SPEAKS.get(_word, ()), _one.code)
