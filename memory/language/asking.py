"""Where a question or a request begins behind a statement that no mark ends, as data for some languages.

It only ever leaves words out of what is believed.
"""

from __future__ import annotations

import re
from importlib import resources

import yaml

from memory.language import ASKING, UNSPACED


def asks_from(text: str, start: int = 0) -> int | None:
    """Return where a question or a request begins in a text; None where none does.

    Args:
        text: The text, written without punctuation perhaps.
        start: Where to look from.

    >>> text = "I start at three every day which bread can I bake"
    >>> text[asks_from(text) :], asks_from("Trabajo en un banco y tengo dos gatos")
    ('which bread can I bake', None)
    """
    found = min((match.start() for one in _ASKING if (match := one.search(text, start))), default=None)
    return found


def _load() -> tuple[re.Pattern[str], re.Pattern[str]]:
    data = yaml.safe_load((resources.files("memory.language") / ASKING).read_text(encoding="utf-8"))
    unspaced = "|".join(f"(?:{one})" for code in ("zh", "ja") for one in data.pop(code))
    spaced = "|".join(f"(?:{one})" for patterns in data.values() for one in patterns)
    flags = re.IGNORECASE | re.VERBOSE
    return re.compile(rf"(?<![^\W{UNSPACED}])(?:{spaced})", flags), re.compile(unspaced, flags)


_ASKING = _load()
