"""Redaction of outgoing queries: the user's identity and contact data stay in the house.

Redacted are the names, addresses, numbers and identifiers of the profile in any spelling, and everything in the form of
an e-mail address, a telephone number, a card's or an identity document's.

One rule keeps such a value: the user's own message searches for exactly that. Either the message has no other substance
and asks about the value ("who is Ann Lee?", "latest news about Ann Lee", "số 0901 234 567 là của ai"), or it asks for a
search with the value in quotation marks (search for "Ann Lee" marathon). An introduction ("I am Ann Lee, what is the
news?") asks for nobody.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from react_mem.memory.language import fold, index_terms, index_words, listed

Kind = Literal["name", "email", "number", "id", "address"]


@dataclass(frozen=True)
class Span:
    """A private value in a text, with the normal form of all its spellings."""

    start: int
    end: int
    kind: Kind
    value: str


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TOGETHER = re.compile(r"[ \t\u00a0]{1,2}|-|\. ")
"""Separators between two words of one name."""

_MAX_WORDS = 6


@dataclass(frozen=True)
class _Word:
    start: int
    end: int
    text: str

    @property
    def folded(self) -> str:
        return fold(self.text)

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def is_common(self) -> bool:
        return not index_terms(self.text)


def named(text: str, name: str) -> Iterator[Span]:
    """Find a name, or a part that stands for it, with or without diacritics.

    The whole name counts anywhere. A part of it may be a word, or belong to another name: it counts with a capital, and
    without another name beside it.

    >>> [span.value for span in named("Nguyen Trai street, where An met nguyen van an", "Nguyễn Văn An")]
    ['an', 'nguyenvanan']
    >>> list(named("Quán ăn ngon ở đường Nguyễn Trãi", "Nguyễn Văn An"))
    []
    """
    own = _WORD.findall(name)
    if not own or len(own) > _MAX_WORDS:
        return
    if _UNSPACED.search(name):
        for match in re.finditer(re.escape(name), text):
            if len(name) > 1:
                yield Span(match.start(), match.end(), "name", fold(name))
        return
    found = [_Word(match.start(), match.end(), match.group()) for match in _WORD.finditer(text)]
    capitals = sum(word.is_capital for word in found)
    # who writes "ăn" does not mean "An"
    accented = fold(text) != text.casefold()
    # where nearly all words have one, a capital says nothing
    shouted = capitals > 0.9 * len(found)
    parts = {fold(part) for part in own}
    for first, last in _runs(text, found, parts):
        run = found[first:last]
        beside = not shouted and _has_neighbour(text, found, first, last, parts)
        doubtful = not (accented or text[run[-1].end :].startswith(("'s", "’s"))) and (
            shouted or _starts_sentence(text, run[0])
        )
        if _is_meant(run, own, beside, doubtful=doubtful, unmarked=shouted or not capitals):
            yield Span(run[0].start, run[-1].end, "name", "".join(word.folded for word in run))


def _is_meant(run: Sequence[_Word], own: Sequence[str], beside: bool, *, doubtful: bool, unmarked: bool) -> bool:
    """Return true if the words of a run are the name with these own words.

    `beside` is true with another name beside the run; `doubtful` marks capitals that say nothing, as in "An apple", and
    `unmarked` a text in which no capital says anything.
    """
    said, whole = [word.folded for word in run], [fold(part) for part in own]
    if len(whole) > 1 and any(said[place : place + len(whole)] == whole for place in range(len(said))):
        return True
    if beside:
        return False
    if len(run) > 1:
        return all(word.is_capital for word in run) or (unmarked and not any(word.is_common for word in run))
    word = run[0]
    # "Mình", me, is not Minh; "Minh" may be written for him
    if word.text.casefold() not in {part.casefold() for part in own} and word.folded != word.text.casefold():
        return False
    if word.is_capital:
        return len(word.text) > 1 and not (word.is_common and doubtful)
    if len(own) > 1:
        # in Vietnamese the parts of names are words, or those of streets; typed without capitals they say nothing
        return unmarked and len(word.text) > 3 and "".join(own).isascii() and not word.is_common
    return len(word.text) > 2 and not word.is_common


def _runs(text: str, found: Sequence[_Word], parts: set[str]) -> list[tuple[int, int]]:
    """Return the runs of adjacent words of a name: first, and behind the last."""
    runs: list[tuple[int, int]] = []
    for place, word in enumerate(found):
        if word.folded in parts:
            goes_on = runs and runs[-1][1] == place and _are_together(text, found[place - 1], word)
            runs.append((runs.pop()[0] if goes_on else place, place + 1))
    return runs


def _are_together(text: str, before: _Word, after: _Word) -> bool:
    return bool(_TOGETHER.fullmatch(text[before.end : after.start]))


def _has_neighbour(text: str, found: Sequence[_Word], first: int, last: int, parts: set[str]) -> bool:
    """Return true if a capitalised word is beside a run, with which it may be another name."""
    before, after = found[max(first - 1, 0) : first], found[last : last + 1]
    return any(
        word.is_capital and not word.is_common and not _starts_sentence(text, word)
        for word in before
        if _are_together(text, word, found[first])
    ) or any(
        word.is_capital and not word.is_common and word.folded not in parts
        for word in after
        if _are_together(text, found[last - 1], word)
    )


def _starts_sentence(text: str, word: _Word) -> bool:
    return not text[: word.start].strip(" \t\n\"'“‘(") or text[: word.start].rstrip()[-1] in ".!?:\n"


# Detection of private values in a text: the profile's, and anything in the form of an address or number.


def _fields(name: str) -> re.Pattern[str]:
    names = " ".join(listed("fields", name)).split()
    return re.compile(rf"\b(?:{'|'.join(names) or '(?!)'})\b".replace("_", " "))


_NAME_FIELD, _NOT_OF_PEOPLE = _fields("name"), _fields("not_of_people")
_ADDRESS_FIELD, _NUMBER_FIELD, _HANDLE_FIELD = map(_fields, ("address", "number", "handle"))
_BETWEEN_NAMES = re.compile(rf"\s*(?:[,;/&\n()]|{_fields('joined').pattern})\s*")

_EMAIL = re.compile(r"[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}\w{2,24}")
_DATE_OR_TIME = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:19|20)?\d\d"
    r"|\d{1,2}:\d\d(?::\d\d)?)(?!\d)"
)
_PHONE = re.compile(
    r"(?<![\w.,])(?:\+\d{1,3}[\s.()-]{0,3}\(?\d{1,4}\)?|\(?0\d{1,4}\)?"
    r"|(?:1[ .-])?(?:\(\d{3}\)|\d{3}(?=[ .-]\d{3}[ .-]\d{4})))"
    r"(?:[\s.-]{0,2}\d{2,7}){1,5}(?![\w%])"
)
_CARD = re.compile(r"(?<![\w.,])\d{4}[ -](?:\d{4}(?:[ -]\d{4}){1,2}(?:[ -]\d{1,7})?|\d{6}[ -]\d{5})(?!\w)")
_IDENTITY = re.compile(
    r"(?<![\w.,])(?:\d{3}-\d{2}-\d{4}|[A-Z]{1,2}\d{7,8}|[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?"
    r"|(?!97[89]\d{10}(?!\d))\d{9,19})(?![\w%])"
)

_MIN_DIGITS = 7
"""Digits of a number that leads to one person: a telephone number without its area."""

_MIN_VERBATIM = 4
"""Characters. Shorter values are in every other sentence."""


def private_spans(text: str, profile_values: Mapping[str, str]) -> list[Span]:
    """Return the private places of a normalised (NFKC) text, in order, without overlaps.

    Of the profile only names, addresses and identifiers are private, not the user's city or tastes.

    >>> [text.value for text in private_spans("An's phone is +84 90 123 45 67", {"name": "Nguyễn Văn An"})]
    ['an', '84901234567']
    """
    found = [*_patterns(text), *_known(text, profile_values)]
    kept: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if kept and span.start < kept[-1].end:
            # overlapping places are one
            kept[-1] = replace(kept[-1], end=max(span.end, kept[-1].end))
        else:
            kept.append(span)
    return kept


def _patterns(text: str) -> Iterator[Span]:
    for match in _EMAIL.finditer(text):
        yield Span(match.start(), match.end(), "email", fold(match.group()))
    # dates have as many digits as telephone numbers
    undated = _DATE_OR_TIME.sub(lambda match: "," * len(match.group()), text)
    for pattern in (_PHONE, _CARD, _IDENTITY):
        for match in pattern.finditer(undated):
            found = match.group()
            digits = re.sub(r"\D", "", found)
            is_quantity = found.isdigit() and digits.endswith("0000")
            if len(digits) >= _MIN_DIGITS and not is_quantity:
                # a bracket may open a remark and not an area code
                start = match.start() + (found.startswith("(") and ")" not in found)
                yield Span(start, match.end(), "number", _key(found))


def _known(text: str, profile_values: Mapping[str, str]) -> Iterator[Span]:
    letters = [(letter, place) for place, char in enumerate(text) for letter in fold(char)]
    for field, value in profile_values.items():
        value = unicodedata.normalize("NFKC", str(value)).strip()
        kind = _kind(field, value)
        if kind == "name":
            for name in _BETWEEN_NAMES.split(value):
                yield from named(text, name)
        elif kind is not None:
            yield from _verbatim(letters, value, kind)
            street = value.partition(",")[0]
            if kind == "address" and street != value and re.search(r"\d", street):
                # the house is private; the city, which may stand without it, is not
                yield from _verbatim(letters, street, kind)


def _kind(field: str, value: str) -> Kind | None:
    """Return the kind of a private profile value; None for any other."""
    said = fold(re.sub(r"(?<=[a-z])(?=[A-Z])|[_.-]+", " ", field))
    digits = sum(char.isdigit() for char in value)
    if _EMAIL.search(value):
        return "email"
    if _ADDRESS_FIELD.search(said):
        return "address" if digits else None
    if _HANDLE_FIELD.search(said):
        return "id"
    if _NUMBER_FIELD.search(said) and digits:
        return "id"
    if _NAME_FIELD.search(said) and not _NOT_OF_PEOPLE.search(said) and not digits:
        return "name"
    # so long a number identifies a person, whatever the name of the field
    return "id" if digits >= _MIN_DIGITS and len(value) <= 2 * digits else None


def _verbatim(letters: list[tuple[str, int]], value: str, kind: Kind) -> Iterator[Span]:
    """Yield the places of a value, with any separators between its characters."""
    key = _key(value)
    if len(key) < _MIN_VERBATIM:
        return
    folded = "".join(letter for letter, _ in letters)
    pattern = r"[\W_]{0,3}".join(map(re.escape, key))
    for match in re.finditer(rf"(?<![^\W_]){pattern}(?![^\W_])", folded):
        yield Span(letters[match.start()][1], letters[match.end() - 1][1] + 1, kind, key)


def _key(text: str) -> str:
    return re.sub(r"[\W_]", "", fold(text))


MAX_QUERY_CHARS = 400
"""Maximal query of Tavily; other engines take no more."""

_MAX_READ = 4000


def web_words(name: str, begin: str = r"(?<!\S)", end: str = r"(?!\S)") -> re.Pattern[str]:
    """Return a pattern of the words of a list, whole or between `begin` and `end`."""
    return re.compile(rf"{begin}(?:{'|'.join(listed('web', name)) or '(?!)'}){end}", re.IGNORECASE)


_ASKING = frozenset(index_words(" ".join(listed("web", "asking"))))
"""Words of a question that carry no topic."""

_SEARCHES, _ENOUGH = map(web_words, ("searches", "enough"))
_BEFORE, _INTRODUCES = (web_words(name, end="$") for name in ("before", "introduces"))
_BEHIND = web_words("behind", begin="")
_INTRODUCTION = web_words("introduction", r"(?<!\w)", r"\s*$")
_QUOTES = {'"': '"', "“": "”", "«": "»", "„": "“", "'": "'", "‘": "’"}


@dataclass(frozen=True)
class Outgoing:
    """Redacted query, empty if nothing is left, and the kinds of the redacted values.

    `private` marks a query that still holds something private, which the user asked for.
    """

    text: str
    private: bool = False
    taken: tuple[str, ...] = ()


def outgoing(
    query: str, profile_values: Mapping[str, str], *, asked: str | None = None, protect: bool = True
) -> Outgoing:
    """Return a query without its private values.

    Args:
        asked: The user's own message, which decides about exceptions; None for the query itself.
        protect: False keeps everything.

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
    # a message of a number or a name alone asks for it, too
    return bool(_BEFORE.search(before) or _BEHIND.match(after)) or not index_words(
        message[: span.start] + message[span.end :]
    )


def _is_quoted(message: str, span: Span) -> bool:
    before, after = message[: span.start].rstrip()[-1:], message[span.end :].lstrip()[:1]
    return _QUOTES.get(before) == after


def _substance(text: str) -> list[str]:
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
    """Return the beginning of a text in its normal form (NFKC), in which full-width digits are digits."""
    text = unicodedata.normalize("NFKC", text)
    # an address or a number that is cut in half would no longer be known for one
    return text if len(text) <= _MAX_READ else text[:_MAX_READ].rpartition(" ")[0]


def _short(text: str) -> str:
    """Return a text within an engine's limit: of a long one the last question, else the beginning."""
    text = re.sub(r"\s+", " ", text).strip()
    if len(text) <= MAX_QUERY_CHARS:
        return text
    questions = [part.strip() for part in re.findall(r"[^.!?。？]+[?？]", text) if index_terms(part)]
    chosen = questions[-1] if questions else text
    cut = chosen if len(chosen) <= MAX_QUERY_CHARS else chosen[:MAX_QUERY_CHARS].rpartition(" ")[0]
    return cut or chosen[:MAX_QUERY_CHARS]
