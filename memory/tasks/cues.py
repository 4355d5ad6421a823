"""Whether somebody wants to go on with what was begun before: told by the words, in English and Vietnamese."""

from __future__ import annotations

import re
from collections.abc import Sequence

from react_mem.memory.language.folding import fold
from react_mem.memory.retrieval.words import terms

_LEAD = r"^(?:(?:ok|okay|hi|hello|so|now|please|can we|could you|could we|can you|let us|let s|lets|i want to|"
_LEAD += r"i would like to|chao|vay|gio|bay gio|hay|minh|chung ta|toi muon|minh muon|lam on|cho)\s+)*"
_CUE = re.compile(
    rf"{_LEAD}(?:continue|resume|carry on|keep going|go on|pick (?:it |this |that )?up|proceed|tiep tuc|lam tiep)\b"
    r"|\bwhere (?:we|i|you) (?:stopped|left off|left it|were|had stopped)\b"
    r"|\b(?:cho|viec|phan|cai) (?:con )?(?:do dang|dang do|bo do|dang lam do)\b"
    r"|\b(?:dung lai|da dung|dang dung) o dau\b"
)
_FILLER = frozenset(
    terms(
        "where we i you stopped left off last time with the task our my work please it this that was were yesterday "
        "from there before again now thanks tiếp tục công việc lần trước hôm qua chỗ dừng lại dở dang nhé nha giúp "
        "mình tôi ta chúng ta việc đang phần đó còn lại ở đâu đã với cho đi nào hãy làm tiếp nhỉ hả vậy rồi"
    )
)
_MIN_ALIKE = 0.6
"""Of the words of a request and of a goal together, those in both: at 0.6 "book a trip to Hue in May" is the goal "book
a trip to Hue", and "book a trip to Hanoi" is not."""


def asks_to_go_on(request: str) -> bool:
    """Return whether a request wants to go on, and says no more than that.

    >>> asks_to_go_on("Continue where we stopped, please.")
    True
    >>> asks_to_go_on("Tiếp tục việc đang dở nhé")
    True
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
    wanted = [set(terms(goal)) for goal in goals]
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
    return set(terms(rest)) - _FILLER
