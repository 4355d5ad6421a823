"""Decisions: messages that close or decide something, in any language with a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from react_mem.memory.language import FILES
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import is_question, sentences

_MOST_CHARS = 4_000
"""Characters read: a decision is a short message or the beginning of a long one."""


def settles(text: str) -> bool:
    """Return true for a message that closes or decides something; quotations and questions decide nothing.

    >>> settles("OK, let's go with PostgreSQL."), settles("Chốt phương án hai nhé."), settles("Have we decided yet?")
    (True, True, False)
    """
    said = unicodedata.normalize("NFC", own_words_in(text[:_MOST_CHARS])).replace("’", "'")
    return any(
        says.search(sentence) and not still_open.search(sentence)
        for sentence in sentences(said)
        if not is_question(sentence)
        for says, still_open in _CUES
    )


def _cues(data: Mapping[str, Any]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    def either(sources: Sequence[str]) -> re.Pattern[str]:
        found = "|".join(sources)
        # between letters without spaces there is no end of a word
        return re.compile(f"(?:{found})" if data.get("unspaced") else rf"\b(?:{found})\b", re.IGNORECASE)

    return either(data["settles"]["says"]), either(data["settles"]["open"])


_CUES = [_cues(data) for data in FILES.values() if "settles" in data]
