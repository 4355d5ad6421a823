"""Words that find a message and that it does not say: what kind of thing it tells of, who "she" is, which day it was.

They go into the index only. A wrong one costs a place in a result list, so that what is checked is the form, that the
message says what is explained, and that a date can be meant: a category cannot be checked against the transcript.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from pydantic import ValidationError

from memory.extraction.briefing import Briefing
from memory.extraction.contract import TranscriptMessage
from memory.extraction.proposal import MAX_KEYWORDS, MAX_MEANINGS, ProposedKeyword
from memory.statements import is_pleasantry, sentences
from memory.wording import fold, missing

MAX_WORDS = 12
"""Index words of one message: more describe everything, and so find nothing."""

_MAX_CHARS = 40
_MAX_TERM_WORDS = 3
_MAX_SAYS = 120

# "martial arts", "R&B", "children's": anything else belongs to a sentence, to a mark-up or to an address.
_TERM = re.compile(r"[^\W_]+(?:(?: & |[ '’&/.-])[^\W_]+)*")
_NAME = re.compile(r"\b[^\W\d_]\w+")

_MONTHS = [name.casefold() for name in calendar.month_name]
_ISO = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?")
_NAMED = (
    re.compile(r"(?:(?P<day>\d{1,2}) )?(?P<name>[a-z]+) (?P<year>\d{4})"),
    re.compile(r"(?P<name>[a-z]+) (?P<day>\d{1,2}),? (?P<year>\d{4})"),
)
_PAST = re.compile(r"\b(?:yesterday|ago|last|past|previous\w*|hom qua|toi qua|truoc|vua roi)\b")
_FUTURE = re.compile(r"\b(?:tomorrow|next|coming|upcoming|ngay mai|toi mai|sap toi|sau)\b")

_DAYS_AWAY = {"day": 400, "month": 3_700, "year": 37_000}
"""How far a resolved date may lie: nobody says "yesterday" of another year, nor "two months ago" of another decade."""


class _Refused(Exception):  # noqa: N818 - a signal within this module
    """A word that is not taken; the message is the reason."""


@dataclass(frozen=True)
class Keywords:
    """What was taken and what was not.

    Args:
        words: The words, by the id of the message that they find.
        refused: What the model sent that is of no use, and why.
    """

    words: dict[str, tuple[str, ...]]
    refused: tuple[tuple[Any, str], ...] = ()


def wants_keywords(text: str) -> bool:
    """Tell whether a message says anything that somebody may look for later.

    >>> wants_keywords("Thanks!"), wants_keywords("Thanks, I went surfing.")
    (False, True)
    """
    return any(not is_pleasantry(sentence) for sentence in sentences(text))


def check_keywords(items: Any, briefing: Briefing) -> Keywords:
    """Take what helps to find the messages for which it was asked.

    An entry belongs to every message that says what it explains, so that it cannot be given to the wrong one. What a
    message says itself is left out of its words, and what is not in form costs only itself.

    Args:
        items: The entries as the model sent them.
        briefing: What it was shown.
    """
    if not items:
        return Keywords({})
    if not isinstance(items, list):
        return Keywords({}, ((items, "not a list"),))
    wanted = [message for message in briefing.messages if message.enrich]
    words: dict[str, dict[str, str]] = {message.id: {} for message in wanted}
    refused: list[tuple[Any, str]] = [(item, f"more than {MAX_KEYWORDS} of them") for item in items[MAX_KEYWORDS:]]
    for item in items[:MAX_KEYWORDS]:
        try:
            entry = ProposedKeyword.model_validate(item)
            tellers = _tellers(entry.says, wanted)
        except ValidationError:
            refused.append((item, "not in the form that was asked for"))
            continue
        except _Refused as reason:
            refused.append((item, str(reason)))
            continue
        for meant in entry.means[:MAX_MEANINGS]:
            for message in tellers:
                try:
                    term = _term(meant, entry.says, message, briefing)
                except _Refused as reason:
                    refused.append((item, str(reason)))
                    continue
                taken = words[message.id]
                if term and len(taken) < MAX_WORDS:
                    taken.setdefault(fold(term), term)
    return Keywords({id_: tuple(terms.values()) for id_, terms in words.items() if terms}, tuple(refused))


def _tellers(says: str, messages: Sequence[TranscriptMessage]) -> list[TranscriptMessage]:
    if not says.strip() or len(says) > _MAX_SAYS:
        raise _Refused("it names nothing of a message")
    tellers = [message for message in messages if not missing(says, [message.text])]
    if not tellers:
        raise _Refused("no message says what it explains")
    return tellers


def _term(meant: str, says: str, message: TranscriptMessage, briefing: Briefing) -> str:
    """Return a word for the index, or nothing where the message says it itself."""
    term = " ".join(meant.replace("_", " ").split()).strip(" .")
    if not term or not missing(term, [message.text]):
        return ""
    if (
        len(term) > _MAX_CHARS
        or len(term.split()) > _MAX_TERM_WORDS
        or not (_TERM.fullmatch(term) or _NAMED[1].fullmatch(fold(term)))
    ):
        raise _Refused("not a word")
    if any(character.isdigit() for character in term):
        return _date(term, says, message)
    if _is_told_elsewhere(term, briefing):
        raise _Refused("a name that only another conversation tells")
    return term


def _date(term: str, says: str, message: TranscriptMessage) -> str:
    """Return a date that a message may mean, or nothing where it is the day on which it was said."""
    first, last, precision = _period(fold(term))
    if message.at is None:
        raise _Refused("a date for a message that has none")
    said_on, when = message.at.date(), fold(says)
    if first == last == said_on:
        return ""
    if max(first - said_on, said_on - last) > timedelta(days=_DAYS_AWAY[precision]):
        raise _Refused("a date too far from that of its message")
    if (_PAST.search(when) and first > said_on) or (_FUTURE.search(when) and last < said_on):
        raise _Refused("a date on the wrong side of that of its message")
    return term


def _period(term: str) -> tuple[date, date, str]:
    """Return the first and the last day that a date covers, and how precise it is."""
    found = next(filter(None, (form.fullmatch(term) for form in (_ISO, *_NAMED))), None)
    if found is None:
        raise _Refused("a number that is no date")
    parts = found.groupdict()
    year, day = int(parts["year"]), int(parts["day"] or 0)
    try:
        if "name" in parts:
            month = next(n for n, name in enumerate(_MONTHS) if n and name[:3] == parts["name"][:3])
        else:
            month = int(parts["month"] or 0)
        if not month:
            return date(year, 1, 1), date(year, 12, 31), "year"
        if not day:
            return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]), "month"
        return date(year, month, day), date(year, month, day), "day"
    except (ValueError, StopIteration):
        raise _Refused("a date that does not exist") from None


def _is_told_elsewhere(term: str, briefing: Briefing) -> bool:
    """Tell whether a term is a name out of the memories shown: it would outlive the conversation that told it."""
    names = [name for name in _NAME.findall(term) if not name.islower()]
    if not names:
        return False
    told = " ".join(message.text for message in briefing.messages)
    known = set(_NAME.findall(" ".join(memory.text for memory in briefing.targets.values())))
    return any(name in known and missing(name, [told]) for name in names)
