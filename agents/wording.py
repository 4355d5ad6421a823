"""The phrases of the extractive model in the language of the user; `memory/language` has them, a file a language."""

from __future__ import annotations

import re
from collections.abc import Mapping

from react_mem.memory.language import LANGUAGES, language_of

_OWN = (
    "noted",
    "said",
    "fact",
    "closest",
    "unknown",
    "off",
    "small_talk",
    "request",
    "overview",
    "overview_empty",
    "forgotten_what",
    "forgotten",
    "not_forgotten",
    "nothing_to_forget",
    "cannot_forget",
    "forget_all",
    "empty",
    "unseen",
    "time",
    "failed",
)

OWN_ANSWER = re.compile(
    "|".join(re.escape(language.wording[key].partition("{")[0]) for language in LANGUAGES for key in _OWN)
    + r"|\[extractive: "
)
"""How its own answers begin: what is remembered of them from an earlier conversation is no memory of the user."""


def wording_for(text: str) -> Mapping[str, str]:
    """Return the phrases in the language of a text; in English where it has none.

    >>> wording_for("Tôi sống ở đâu?")["unknown"]
    'Tôi không nhớ gì về điều đó.'
    >>> wording_for("我住在哪里")["unknown"]
    '关于这个，我什么都不记得。'
    """
    return language_of(text).wording
