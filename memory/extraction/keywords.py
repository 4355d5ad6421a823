"""Words that find a message and that it does not say: what kind of thing it tells of, who "she" is, which day it was.

They go into the index only. A wrong one costs a place in a result list, so that what is checked is the form, that the
message says what is explained, and that a date can be meant: a category cannot be checked against the transcript.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import product
from typing import Any

from memory.extraction.briefing import Briefing
from memory.extraction.contract import TranscriptMessage
from memory.extraction.proposal import MAX_MEANINGS, ProposedKeyword
from memory.retrieval.times import mentions
from memory.statements import is_pleasantry, sentences
from memory.wording import fold, missing

MAX_WORDS = 12
"""Index words of one message: more describe everything, and so find nothing."""

_MAX_CHARS = 40
_MAX_TERM_WORDS = 3
_MAX_SAYS = 120

# "martial arts", "R&B", "children's", "May 7, 2024": anything else belongs to a sentence, mark-up or an address.
_TERM = re.compile(r"[^\W_]+(?:(?: & |, |[ '’&/.-])[^\W_]+)*")
_NAME = re.compile(r"\b[^\W\d_]\w+")

_TIMES_AWAY = 400
"""How far a date may lie, in its own lengths: nobody says "yesterday" of another year, nor "in May" of another age."""


def wants_keywords(text: str) -> bool:
    """Tell whether a message says anything that somebody may look for later.

    >>> wants_keywords("Thanks!"), wants_keywords("Thanks, I went surfing.")
    (False, True)
    """
    return any(not is_pleasantry(sentence) for sentence in sentences(text))


def words_for(
    entries: Iterable[ProposedKeyword], briefing: Briefing, refuse: Callable[[Any, str], None]
) -> dict[str, tuple[str, ...]]:
    """Return what helps to find the messages for which it was asked, by their ids.

    An entry belongs to every message that says what it explains, so that it cannot be given to the wrong one. What a
    message says itself is left out of its words, and what is not in form costs only itself.

    Args:
        entries: The entries as the model sent them.
        briefing: What it was shown.
        refuse: Takes what is of no use, and why.
    """
    words: dict[str, dict[str, str]] = {}
    for entry in entries:
        says = entry.says.strip() if len(entry.says) <= _MAX_SAYS else ""
        tellers = [one for one in briefing.messages if one.enrich and says and not missing(says, [one.text])]
        if not tellers:
            refuse(entry.model_dump(), "no message says what it explains")
        for meant, message in product(entry.means[:MAX_MEANINGS], tellers):
            term = " ".join(meant.replace("_", " ").split()).strip(" .")
            taken = words.setdefault(message.id, {})
            if not missing(term, [message.text]):
                continue
            if reason := _refusal(term, says, message, briefing):
                refuse(entry.model_dump(), reason)
            elif len(taken) < MAX_WORDS:
                taken.setdefault(fold(term), term)
    return {id_: tuple(terms.values()) for id_, terms in words.items() if terms}


def _refusal(term: str, says: str, message: TranscriptMessage, briefing: Briefing) -> str:
    """Return why a word is not taken; nothing for one that is."""
    if len(term) > _MAX_CHARS or len(term.split()) > _MAX_TERM_WORDS or not _TERM.fullmatch(term):
        return "not a word"
    if any(character.isdigit() for character in term):
        return _no_date(term, says, message, briefing)
    told = [one.text for one in briefing.messages]
    known = set(_NAME.findall(" ".join(memory.text for memory in briefing.targets.values())))
    names = {name for name in _NAME.findall(term) if not name.islower()}
    # out of a memory, it would outlive the conversation that told it
    told_elsewhere = any(missing(name, told) for name in names & known)
    return "a name that only another conversation tells" if told_elsewhere else ""


def _no_date(term: str, says: str, message: TranscriptMessage, briefing: Briefing) -> str:
    """Return why a word with digits is no date that a message may mean; nothing for one that is."""
    if message.at is None:
        return "a date for a message that has none"
    said_on = message.at.astimezone(briefing.zone).date()
    dates = [period for one in mentions(term, said_on) for period in one.periods]
    # three parts name a day: of one that the calendar does not have, the month is left
    if len(dates) != 1 or (len(term.split()) > 2 and dates[0].start < dates[0].end):
        return "a number that is no date"
    first, last = dates[0].start, dates[0].end
    meant = [period for one in mentions(says, said_on) for period in one.periods]
    if meant and not any(first <= one.end and one.start <= last for one in meant):
        return "another date than its message means"
    if max(first - said_on, said_on - last) > _TIMES_AWAY * (last - first + timedelta(days=1)):
        return "a date too far from that of its message"
    return "the day on which it was said" if first == last == said_on else ""
