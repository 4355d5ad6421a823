"""Detection of a wish to resume a task, by the phrases of the languages' files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from react_mem.memory.language.folding import fold
from react_mem.memory.language.statements import cue_words, phrases
from react_mem.memory.language.terms import index_terms

_CUE = re.compile(rf"^(?:{phrases('go_on_lead')}\s*)*{phrases('go_on')}|{phrases('left_off')}")
_FILLER = frozenset(index_terms(cue_words("go_on_filler")))
_MIN_ALIKE = 0.6
"""Of the words of a request and of a goal together, those in both: at 0.6 "book a trip to Hue in May" is the goal "book
a trip to Hue", and "book a trip to Hanoi" is not."""


def asks_to_go_on(request: str) -> bool:
    """Return whether a request wants to go on, and says no more than that.

    >>> asks_to_go_on("Continue where we stopped, please.")
    True
    >>> asks_to_go_on("Tiếp tục việc đang dở nhé")
    True
    >>> asks_to_go_on("请继续上次的任务"), asks_to_go_on("昨日の仕事の続きをお願いします")
    (True, True)
    >>> asks_to_go_on("My knee continues to hurt")
    False
    """
    return _begins(request) and not _said(request)


def meant(request: str, goals: Sequence[str]) -> int | None:
    """Return the place of the goal with which a request wants to go on, None for none.

    Args:
        request: What the user says.
        goals: The goals of what is unfinished, the latest first.

    >>> meant("continue where we stopped", ["book a trip to Hue", "write a report"])
    0
    >>> meant("continue with the report", ["book a trip to Hue", "write a report"])
    1
    >>> meant("continue the story", ["book a trip to Hue"]) is None
    True
    """
    if not goals:
        return None
    said = _said(request)
    wanted = [set(index_terms(goal)) for goal in goals]
    if _begins(request):
        if not said:
            return 0
        best = max(range(len(goals)), key=lambda place: len(said & wanted[place]))
        return best if said & wanted[best] else None
    alike = [len(said & words) / len(said | words) if words else 0.0 for words in wanted]
    best = max(range(len(goals)), key=alike.__getitem__)
    return best if alike[best] >= _MIN_ALIKE else None


def _begins(request: str) -> bool:
    return bool(_CUE.search(re.sub(r"\W+", " ", fold(request)).strip()))


def _said(request: str) -> set[str]:
    """Return the words of a request that say what it is about."""
    rest = _CUE.sub(" ", re.sub(r"\W+", " ", fold(request)).strip()) if _begins(request) else request
    return set(index_terms(rest)) - _FILLER
