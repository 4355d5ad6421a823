"""Text within a length: cut where a sentence ends, else between words, and never so that a number says another one."""

from __future__ import annotations

import re
import unicodedata

from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.statements import sentences

_ELLIPSIS = "…"
# "12 500" without its "000" is another number, and "5" without "million" as well.
_NUMBER = re.compile(r"\W*\d[\d\W]*")
_JOINERS = ("\u200d", "\ufe0f")


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters.

    >>> shortened("An has two cats. They are called Mo and Mi.", 30)
    'An has two cats.'
    >>> shortened("The house costs 12 500 000 dong a month", 24)
    'The house costs…'
    """
    if len(text) <= limit:
        return text
    text = unwrapped(text[: 2 * limit + 2])
    kept = 0
    for sentence in sentences(text[: limit + 1]):
        place = text.find(sentence, kept) + len(sentence)
        # the last one may have been cut by the bound itself
        if place > limit or not _ends(text, place):
            break
        kept = place
    return text[:kept].rstrip() if kept else _words(text, limit)


def _ends(text: str, place: int) -> bool:
    """Return whether a sentence that ends here ends in the whole text too: not the "3." of "3.5", nor a mere line."""
    return (text[place].isspace() and text[place - 1] in "\"'”’»)].!?…") or text[place - 1] in "。！？"


def _words(text: str, limit: int) -> str:
    cut = limit - len(_ELLIPSIS)
    words = text[: cut + 1].split(" ")
    if len(words) > 1:
        del words[-1]
    else:
        while cut and _is_joined(text, cut):
            cut -= 1
        words = [text[:cut]]
    while words and (not words[-1] or _NUMBER.fullmatch(words[-1])):
        del words[-1]
    return " ".join(words).rstrip(",;:–—-") + _ELLIPSIS


def _is_joined(text: str, cut: int) -> bool:
    """Return whether a cut would part what is one: a letter and its accent, an emoji and its parts, a number."""
    after, before = text[cut], text[cut - 1]
    number = after.isdigit() and (before.isdigit() or before in ".,")
    return number or bool(unicodedata.combining(after)) or after in _JOINERS or before in _JOINERS
