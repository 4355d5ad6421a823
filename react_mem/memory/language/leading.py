"""Words in front of what is stated, such as the "No," of an answer, and the mark behind a clause that went on."""

from __future__ import annotations

import re

from react_mem.memory.language import length
from react_mem.memory.language.shared import assents, is_denied
from react_mem.memory.language.statements import is_pleasantry
from react_mem.memory.language.text import has_words

_LEAD = re.compile(r"\s*([^,，、،;；:：.!?。！？\n]{1,40})[,，、،]\s*(?=\S)")
_OPEN_END = " \t\n,，、،;；:：–—-"
_LEAD_WORDS = 2
"""Words of an answer in front of a statement, at most."""


def as_stated(clause: str) -> str:
    """Return a clause as it stands by itself: without a yes, a no or a thanks in front of it, or a comma behind it.

    >>> as_stated("No, I work in Riga."), as_stated("I play chess,"), as_stated("No sugar, please")
    ('I work in Riga.', 'I play chess', 'No sugar, please')
    """
    stated = clause.strip().rstrip(_OPEN_END)
    while (found := _LEAD.match(stated)) and _only_answers(found[1]) and has_words(stated[found.end() :]):
        stated = stated[found.end() :]
    return stated


def _only_answers(lead: str) -> bool:
    if length(lead) > _LEAD_WORDS:
        return False
    return is_pleasantry(lead) or (length(lead) == 1 and (assents(lead) or is_denied(lead)))
