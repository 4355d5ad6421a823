"""Index entries of a record: for each piece of its text the words, the position and the time."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from react_mem.memory.language.folding import MAX_INDEXED_CHARS, fold
from react_mem.memory.language.statements import cue
from react_mem.memory.language.terms import index_terms
from react_mem.memory.language.times import tells_when
from react_mem.memory.model.kinds import filter_marks
from react_mem.memory.model.records import with_zone

# Long texts in pieces: one vector cannot stand for four thousand characters.

CHUNK_CHARS = 800
"""Characters of a piece, about 200 tokens: e5 reads 512 at most, and a piece should be about one thing."""

MAX_CHUNKS = 20
"""Pieces of one text: 16,000 characters at most and 8,000 at least, as pieces end with sentences. The rest of a longer
text is stored, but not searchable.
"""

_SLACK = 1.25
"""A text this little longer stays whole: a last piece of a few words would match everything."""

_BREAK = re.compile(r"(?<=\n)|(?<=[.!?。！？][^\S\n])")


def chunks(text: str) -> list[str]:
    """Split a text at line and sentence ends into pieces of about `CHUNK_CHARS` characters, `MAX_CHUNKS` at most.

    >>> chunks("tea")
    ['tea']
    >>> [len(piece) for piece in chunks("A sentence of some words. " * 100)]
    [779, 779, 779, 259]
    """
    whole = text[: CHUNK_CHARS * MAX_CHUNKS]
    if len(whole) <= CHUNK_CHARS * _SLACK:
        return [text] if text.strip() else []
    found: list[str] = []
    piece = ""
    for part in _BREAK.split(whole):
        while len(part) > CHUNK_CHARS:
            if piece:
                found.append(piece)
            piece = ""
            found.append(part[:CHUNK_CHARS])
            part = part[CHUNK_CHARS:]
        if piece and len(piece) + len(part) > CHUNK_CHARS:
            found.append(piece)
            piece = ""
        piece += part
    found.append(piece)
    return [stripped for piece in found if (stripped := piece.strip())][:MAX_CHUNKS]


TERM_NUMBERS = 1_000_000_000
"""Range of the hash that numbers terms: of a million words, one in two thousand shares its number."""

TELLS_WHEN = "\x1ftells_when"
SPEAKS_OF_ITSELF = "\x1fspeaks_of_itself"

_FIRST_PERSON = cue("speaks_of_itself")
_SAID_AT = ("said_at", "created_at")


class Entry(NamedTuple):
    """One piece of a text in the index: its words, and marks for its other search keys, are its terms.

    `field_name` is the field and piece: `text`, `text#1`, ...; `length` the number of words; `place` the position in
    the conversation, adjacent for neighbours.
    """

    field_name: str
    text: str
    terms: frozenset[str]
    length: int
    place: int | None
    said_at: datetime | None


def entries(field_name: str, text: str, value: Mapping[str, Any]) -> list[Entry]:
    """Return the index entries of one text of a value. For a record, more fields than the text count."""
    said_at = _said_at(value)
    marks = marks_of(value)
    keywords = index_terms(str(value.get("keywords") or "")[:MAX_INDEXED_CHARS])  # a row holds 16,000 words at most
    found: list[Entry] = []
    for number, piece in enumerate(chunks(text)):
        said = index_terms(piece)
        about = {term for term, tells in ((TELLS_WHEN, tells_when), (SPEAKS_OF_ITSELF, says_i)) if tells(piece)}
        terms = frozenset({*said, *keywords, *marks, *about})
        found.append(Entry(piece_name(field_name, number), piece, terms, len(said), _place(value, number), said_at))
    return found


def piece_name(field_name: str, number: int) -> str:
    """Return the name of a piece, such as `text#2`; the first piece has the field's own."""
    return f"{field_name}#{number}" if number else field_name


def piece_of(field_name: str, text: str) -> str:
    """Return the piece of a text for an entry's field name; the whole text if there is just one."""
    _, sign, after = field_name.rpartition("#")
    number = int(after) if sign and after.isdecimal() else 0
    pieces = chunks(text)
    return pieces[number] if number < len(pieces) else text


def whole_text(value: Mapping[str, Any]) -> str:
    """Return the indexed text of a record. A message's `text` is only its beginning, so its content is joined."""
    text, content = str(value.get("text") or ""), value.get("content")
    if isinstance(content, str):
        return content or text
    if isinstance(content, list):
        said = [str(block.get("text") or "") for block in content if isinstance(block, Mapping)]
        return " ".join(filter(None, said)) or text
    return text


def passage_of(field_name: str, value: Mapping[str, Any]) -> str:
    """Return the piece of a record's text for an entry; empty if that is the whole text."""
    whole = whole_text(value)
    piece = piece_of(field_name, whole)
    return piece if len(piece) < len(whole) else ""


def says_i(text: str) -> bool:
    """Return true if a text is in the first person, in any supported language, with or without diacritics.

    >>> says_i("It's my cat"), says_i("Tôi có mèo"), says_i("toi co meo"), says_i("Trời tối rồi")
    (True, True, True, False)
    >>> says_i("我住在河内"), says_i("天气很好")
    (True, False)
    """
    return bool(_FIRST_PERSON.search(unicodedata.normalize("NFC", text).casefold()))


def mark(name: str, value: Any) -> str:
    """Return the index term for a value in a field."""
    return f"\x1f{name}={fold(str(value))}"


def marks_of(value: Mapping[str, Any]) -> set[str]:
    """Return the marks of a record's filterable fields."""
    found = {mark(name, value[name]) for name in filter_marks() & value.keys() if isinstance(value[name], str | bool)}
    if value.get("speaker"):
        found.add(mark("speaker", value["speaker"]))
    return found


def meets(conditions: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Return true if a record meets the conditions of a recall, judged by its marks.

    >>> meets({"kind": "fact", "current": {"$ne": False}}, {"kind": "fact"}), meets({"kind": "fact"}, {})
    (True, False)
    """
    if not conditions:
        return True
    marks = marks_of({name: value[name] for name in conditions if name in value})
    return all(
        mark(name, expected["$ne"]) not in marks if isinstance(expected, Mapping) else mark(name, expected) in marks
        for name, expected in conditions.items()
    )


@lru_cache(maxsize=100_000)
def term_number(term: str) -> int:
    """Return the database's number for a term, from 1 to `TERM_NUMBERS`."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % TERM_NUMBERS + 1


def _place(value: Mapping[str, Any], number: int) -> int | None:
    session, turn = value.get("session_id"), value.get("turn")
    if not isinstance(session, str) or not isinstance(turn, int):
        return None
    digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    # 31 bits of conversation, 24 of turn, 8 of piece: within a signed 64-bit number
    return (int.from_bytes(digest) >> 1) << 32 | min(max(turn, 0), 0xFF_FFFF) << 8 | min(number, MAX_CHUNKS)


def _said_at(value: Mapping[str, Any]) -> datetime | None:
    for name in _SAID_AT:
        with suppress(KeyError, ValueError):
            return with_zone(datetime.fromisoformat(str(value[name])))
    return None


# Filters of LangGraph's stores, applied to items that another search found.


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Return true if a value meets a filter of LangGraph's stores.

    >>> matches({"n": 9, "kind": "fact"}, {"kind": "fact", "n": {"$gte": 9, "$ne": 10}})
    True
    >>> matches({"n": None}, {"n": {"$gt": 1}})
    False
    """
    return all(_meets(value.get(name), condition) for name, condition in (conditions or {}).items())


_ORDERS: dict[str, Callable[[Any, Any], Any]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_OPERATORS = {"$eq": eq, "$ne": ne, **_ORDERS}


def orders(conditions: Mapping[str, Any]) -> bool:
    """Return true if a filter compares by order, which some stores cannot do for missing values.

    >>> orders({"metadata": {"price": {"$lt": 9}}}), orders({"kind": {"$ne": "fact"}})
    (True, False)

    Raises:
        ValueError: If it has an unknown operator.
    """
    found = False
    for name, condition in conditions.items():
        if not isinstance(condition, Mapping):
            continue
        named = {str(one) for one in condition}
        if not any(one.startswith("$") for one in named):
            found |= orders(condition)
        elif unknown := sorted(named - _OPERATORS.keys()):
            raise ValueError(f"{name}: a filter has no operator {unknown[0]!r}; it has {', '.join(sorted(_OPERATORS))}")
        else:
            found |= not named.isdisjoint(_ORDERS)
    return found


def _meets(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compares(value, operator, other) for operator, other in condition.items())
        return isinstance(value, Mapping) and matches(value, condition)
    if isinstance(condition, list | tuple):
        return isinstance(value, list | tuple) and len(value) == len(condition) and all(map(_meets, value, condition))
    return bool(value == condition)


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"a filter has no operator {operator!r}; it has {', '.join(sorted(_OPERATORS))}")
    if operator in _ORDERS:
        try:
            value, other = float(value), float(other)
        except (TypeError, ValueError):
            return False
    return bool(_OPERATORS[operator](value, other))
