"""Detection of private values in a text: those of a profile, and whatever looks like a person's address or number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from react_mem.memory.language import fold, listed
from react_mem.tools.web.person_names import Kind, Span, named


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
"""Of a number that leads to one person: a telephone number without its area."""

_MIN_VERBATIM = 4
"""Characters. What is shorter is in every other sentence."""


def private_spans(text: str, profile_values: Mapping[str, str]) -> list[Span]:
    """Find what is private in a text.

    Args:
        text: The text, normalised (NFKC).
        profile_values: What is known of the user, by field; what the field's name does not say to be a name, an
            address or an identifier is not private by itself: the city that the user lives in, what they like.

    Returns:
        The places, in order; none lies in another.

    >>> [text.value for text in private_spans("An's phone is +84 90 123 45 67", {"name": "Nguyễn Văn An"})]
    ['an', '84901234567']
    """
    found = [*_patterns(text), *_known(text, profile_values)]
    kept: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if kept and span.start < kept[-1].end:
            if span.end <= kept[-1].end:
                continue
            # what overlaps is one
            kept[-1] = Span(kept[-1].start, span.end, kept[-1].kind, kept[-1].value)
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
                # the bracket of a remark is not that of an area
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
    """Return what a profile's value is, if it is private."""
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
    # so long a number says whose it is, whatever the field is called
    return "id" if digits >= _MIN_DIGITS and len(value) <= 2 * digits else None


def _verbatim(letters: list[tuple[str, int]], value: str, kind: Kind) -> Iterator[Span]:
    """Find a value, however its parts are set off from each other."""
    key = _key(value)
    if len(key) < _MIN_VERBATIM:
        return
    folded = "".join(letter for letter, _ in letters)
    pattern = r"[\W_]{0,3}".join(map(re.escape, key))
    for match in re.finditer(rf"(?<![^\W_]){pattern}(?![^\W_])", folded):
        yield Span(letters[match.start()][1], letters[match.end() - 1][1] + 1, kind, key)


def _key(text: str) -> str:
    return re.sub(r"[\W_]", "", fold(text))
