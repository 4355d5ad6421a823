"""Web trigger: a decision by a question's words, without regard to case and diacritics."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Literal

from react_mem.memory.language import cue, index_terms, index_words, listed

Decision = Literal["search", "ask", "no"]
"""Search; leave it to the model; or do not search, whatever the model would say."""

_ENDS = 600
"""Characters at either end of a long message that are read: what is pasted in between is not a question."""

_PERSONAL = 0.5
"""Malus of speaking of oneself, or of what is one's own as a rule: whether "the best phone that I can buy today"
or "the plan for today" is on the web is a matter for the model."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{'|'.join(patterns) or '(?!)'})(?!\S)")


def _listed(name: str) -> re.Pattern[str]:
    return _any(*listed("web", name))


_NEW, _NOW, _NEAR = map(_listed, ("new", "now", "near"))
_LIVE, _INFORMATION, _REQUEST = map(_listed, ("live", "information", "request"))
_ON_THE_WEB, _DO_NOT = _listed("on_the_web"), _listed("do_not")
_ABOUT_US, _COURTESY, _OURS = map(_listed, ("about_us", "courtesy", "ours"))
_ONESELF = cue("about_oneself")


def decide(question: str, *, now: datetime, domain_terms: Iterable[str] = (), threshold: float = 1.0) -> Decision:
    """Decide by its words whether a message needs the web.

    Temporal words, live topics, requests for information and the deployment's own terms have a weight; from the
    threshold on they send it to the web. What is about the user, this conversation or what is remembered never goes
    there, unless the web is asked for in so many words.

    Args:
        question: The message.
        now: When it is asked: this year and later ones are temporal words.
        domain_terms: Words and phrases that ask for a search by themselves.
        threshold: The weight from which on to search.

    >>> now = datetime(2026, 5, 4)
    >>> decide("What is the latest version of Python?", now=now), decide("giá vàng hôm nay", now=now)
    ('search', 'search')
    >>> decide("What is my name?", now=now), decide("Today I am tired", now=now), decide("Who wrote Faust?", now=now)
    ('no', 'no', 'ask')
    """
    read = question if len(question) <= 2 * _ENDS else f"{question[:_ENDS]} {question[-_ENDS:]}"
    said = " ".join(index_words(read))
    if not index_terms(read) or _DO_NOT.search(said):
        return "no"
    if _ON_THE_WEB.search(said):
        return "search"
    if _ABOUT_US.search(said):
        return "no"
    personal = _is_personal(read)
    if personal and not _asks(read, said):
        return "no"
    weight = _weight(said, now, tuple(domain_terms))
    return "search" if weight - (_PERSONAL if personal or _OURS.search(said) else 0) >= threshold else "ask"


def _weight(said: str, now: datetime, domain_terms: tuple[str, ...]) -> float:
    temporal = 1.0 if _NEW.search(said) else 0.6 if _NOW.search(said) or _names_year(said, now) else 0.0
    temporal = temporal or (0.4 if _NEAR.search(said) else 0.0)
    return (
        temporal
        + (0.5 if _LIVE.search(said) else 0.0)
        + (1.0 if _REQUEST.search(said) else 0.5 if _INFORMATION.search(said) else 0.0)
        + (1.0 if domain_terms and _phrases(domain_terms).search(said) else 0.0)
    )


def _names_year(said: str, now: datetime) -> bool:
    return any(now.year <= int(year) <= now.year + 10 for year in re.findall(r"\b(?:19|20)\d\d\b", said))


@lru_cache(maxsize=64)
def _phrases(domain_terms: tuple[str, ...]) -> re.Pattern[str]:
    phrases = {" ".join(index_words(term)) for term in domain_terms} - {""}
    return _any(*map(re.escape, phrases))


def _asks(read: str, said: str) -> bool:
    return "?" in read or "？" in read or bool(_INFORMATION.search(said) or _REQUEST.search(said))


def _is_personal(read: str) -> bool:
    # as written: without its marks "tối nay", this evening, reads as "tôi"
    plain = re.sub(r"[\s,.;:!?]+", " ", unicodedata.normalize("NFC", read).casefold().replace("’", "'")).strip()
    folded = " ".join(index_words(plain))
    courteous = _COURTESY.search(folded)
    return bool(_ONESELF.search(_without(plain, courteous) if courteous else plain))


def _without(plain: str, courteous: re.Match[str]) -> str:
    """Return a text without the words that a phrase takes up in its folded form."""
    before = len(courteous.string[: courteous.start()].split())
    count = len(courteous.group().split())
    parts = plain.split()
    return " ".join(parts[:before] + parts[before + count :])
