"""The examples of the instructions: a small model repeats them where it has nothing to say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from react_mem.memory.language.comparison import content_words, missing, share
from react_mem.prompts import load_prompt

_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
_QUOTED = re.compile(r'"([^"]+)"')
_LEAST = 0.6
"""The share of an example's content words that a text has which repeats it."""


def repeats_example(sentence: str, shown: Sequence[str]) -> bool:
    """Return whether a model's sentence has words of an example that nobody has said.

    Args:
        sentence: What a model says.
        shown: What was said.

    >>> repeats_example("He lives in Oslo.", ["I like tea"]), repeats_example("He lives in Hue.", ["I moved to Hue"])
    (True, False)
    """
    unsaid = " ".join(missing(sentence, shown))
    return bool(unsaid) and any(
        share(example, [sentence]) >= _LEAST and share(example, [unsaid]) > 0 for example in _sentences()
    )


def own_dates(proposed: str) -> str:
    """Return a time that a model proposes; nothing where a date in it is one of an example's.

    >>> own_dates("2019-05.."), own_dates("1953-03-10")
    ('2019-05..', '')
    """
    return "" if _dates().intersection(proposed.split("..")) else proposed


@cache
def _sentences() -> tuple[str, ...]:
    quoted = _QUOTED.findall(load_prompt("extract_memories"))
    return tuple(example for example in quoted if len(content_words(example)) > 1)


@cache
def _dates() -> frozenset[str]:
    return frozenset(_DATE.findall(load_prompt("extract_memories")))
