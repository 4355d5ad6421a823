"""Redaction of outgoing queries: who the user is, and how to reach them, stays in the house.

Taken out are the names, addresses, numbers and identifiers that the profile knows, however they are written, and
whatever looks like an e-mail address, a telephone number, a card's or an identity document's.

One rule leaves such a value in: the user's own message is a search for exactly that. Either nothing else of substance
is in it and the value is what it asks about ("who is Ann Lee?", "latest news about Ann Lee", "số 0901 234 567 là của
ai"), or it asks for a search and has the value in quotation marks (search for "Ann Lee" marathon). To introduce oneself
("I am Ann Lee, what is the news?") is not to ask for oneself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from react_mem.memory.language import index_terms, index_words, listed
from react_mem.tools.web.person_names import Span
from react_mem.tools.web.private_values import private_spans

MAX_QUERY_CHARS = 400
"""Length that Tavily takes; other engines take no more."""

_MAX_READ = 4000


def _any(name: str, begin: str, end: str) -> re.Pattern[str]:
    return re.compile(rf"{begin}(?:{'|'.join(listed('web', name)) or '(?!)'}){end}", re.IGNORECASE)


_ASKING = frozenset(index_words(" ".join(listed("web", "asking"))))
"""Words of a question that say that and how something is asked for, not what."""

_SEARCHES = _any("searches", r"(?<!\S)", r"(?!\S)")
_BEFORE = _any("before", r"(?<!\S)", "$")
_BEHIND = _any("behind", "", r"(?!\S)")
_ENOUGH = _any("enough", r"(?<!\S)", r"(?!\S)")
_INTRODUCTION = _any("introduction", r"(?<!\w)", r"\s*$")
_INTRODUCES = _any("introduces", r"(?<!\S)", "$")
_QUOTES = {'"': '"', "“": "”", "«": "»", "„": "“", "'": "'", "‘": "’"}


@dataclass(frozen=True)
class Outgoing:
    """Redacted query.

    Args:
        text: The query; empty where nothing is left to ask for.
        private: Whether it still holds something private, because that is what was asked for.
        taken: The kinds of what was taken out.
    """

    text: str
    private: bool = False
    taken: tuple[str, ...] = ()


def outgoing(
    query: str, profile_values: Mapping[str, str], *, asked: str | None = None, protect: bool = True
) -> Outgoing:
    """Return what of a query may leave.

    Args:
        query: What is to be searched for.
        profile_values: What is known of the user, by field.
        asked: The user's own message, which decides what may stay in; the query itself by default.
        protect: Whether anything is taken out at all.

    >>> outgoing("gold price today, I am Ann Lee, ann@example.com", {"name": "Ann Lee"}).text
    'gold price today'
    >>> outgoing("Who is Nguyen Van An?", {"name": "Nguyễn Văn An"})
    Outgoing(text='Who is Nguyen Van An?', private=True, taken=())
    """
    text = _readable(query)
    spans = private_spans(text, profile_values)
    if not protect:
        return Outgoing(_short(text), private=bool(spans))
    wanted = {span.value for span in _asked_for(_readable(query if asked is None else asked), profile_values)}
    out = [span for span in spans if span.value not in wanted]
    left = _short(_without(text, out))
    if out and not _substance(left) and not _ENOUGH.search(" ".join(index_words(left))):
        left = ""
    return Outgoing(left, private=len(out) < len(spans) and bool(left), taken=tuple(dict.fromkeys(s.kind for s in out)))


def _asked_for(message: str, profile_values: Mapping[str, str]) -> list[Span]:
    spans = private_spans(message, profile_values)
    if not spans:
        return []
    searches = bool(_SEARCHES.search(" ".join(index_words(message))))
    quoted = [span for span in spans if searches and _is_quoted(message, span)]
    if _substance(_without(message, spans)):
        return quoted
    return [span for span in spans if span in quoted or _is_object(message, span)]


def _is_object(message: str, span: Span) -> bool:
    before = " ".join(index_words(message[: span.start]))
    # "Ann Lee, the latest news?" is signed by her
    after = " ".join(index_words(re.split(r"[,;:.\n]", message[span.end :])[0]))
    if _INTRODUCES.search(before):
        return False
    # a number or a name with nothing beside it is what is looked for, too
    return bool(_BEFORE.search(before) or _BEHIND.match(after)) or not index_words(
        message[: span.start] + message[span.end :]
    )


def _is_quoted(message: str, span: Span) -> bool:
    before, after = message[: span.start].rstrip()[-1:], message[span.end :].lstrip()[:1]
    return before in _QUOTES and after == _QUOTES[before]


def _substance(text: str) -> list[str]:
    """Return the words of a text that say what it is about."""
    return [word for word in index_words(text) if word not in _ASKING and index_terms(word)]


def _without(text: str, spans: list[Span]) -> str:
    for span in sorted(spans, key=lambda span: span.start, reverse=True):
        end = span.end + len(re.match(r"['’]s\b|", text[span.end :]).group())  # type: ignore[union-attr]
        introduction = _INTRODUCTION.search(text[: span.start]) if span.kind == "name" else None
        text = f"{text[: introduction.start() if introduction else span.start]} {text[end:]}"
    text = re.sub(r"([\"“«„‘(\[])\s*([\"”»“’)\]])", " ", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?:\s*[,;:]){2,}", ",", text)
    return re.sub(r"\s+([,;:.?!])", r"\1", text).strip(" ,;:").lstrip(".!?")


def _readable(text: str) -> str:
    """Return the part of a text that is read, in one way of writing: full-width digits are digits, too."""
    text = unicodedata.normalize("NFKC", text)
    # an address or a number that is cut in half would no longer be known for one
    return text if len(text) <= _MAX_READ else text[:_MAX_READ].rpartition(" ")[0]


def _short(text: str) -> str:
    """Return as much of a text as an engine takes: of a long one the last question, else the beginning."""
    text = re.sub(r"\s+", " ", text).strip()
    if len(text) <= MAX_QUERY_CHARS:
        return text
    questions = [part.strip() for part in re.findall(r"[^.!?。？]+[?？]", text) if index_terms(part)]
    chosen = questions[-1] if questions else text
    return (
        chosen
        if len(chosen) <= MAX_QUERY_CHARS
        else chosen[:MAX_QUERY_CHARS].rpartition(" ")[0] or chosen[:MAX_QUERY_CHARS]
    )
