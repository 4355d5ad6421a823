"""Values as PostgreSQL's jsonb accepts them, and their texts that are embedded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import get_text_at_path, tokenize_path

from react_mem.memory.index.entries import Entry, entries, whole_text

REPLACEMENT = "\ufffd"
WHOLE_VALUE = "$"


def storable(value: Any) -> Any:
    r"""Return a JSON value with U+FFFD for the characters that jsonb refuses: NUL and lone surrogates.

    >>> storable({"text": ["a\x00b", "\ud800"]})
    {'text': ['a�b', '�']}
    """
    if isinstance(value, str):
        if value.isascii():
            return value.replace("\x00", REPLACEMENT)
        # UTF-16 joins surrogates that are a pair, as JSON from other languages has them.
        joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return joined.replace("\x00", REPLACEMENT)
    if isinstance(value, Mapping):
        return {storable(name): storable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(part) for part in value]
    return value


def check_identity(namespace: tuple[str, ...], key: str) -> None:
    """Raise ValueError for a namespace or key with NUL or lone surrogates: to replace them would merge two items."""
    if storable(key) != key or any(storable(label) != label for label in namespace):
        raise ValueError(
            f"A namespace and a key must be text without NUL or lone surrogates, got {namespace!r}, {key!r}"
        )


def to_json(value: Any) -> str:
    """Return a value as JSON that jsonb accepts.

    TypeError says that it is not JSON; ValueError, that it holds NaN or an infinity.
    """
    return json.dumps(storable(value), ensure_ascii=False, allow_nan=False)


def text_array(texts: Iterable[str]) -> str:
    r"""Return texts as an array literal: psycopg checks the type of each text, which takes as long as a small read.

    >>> text_array(["a", 'b, "c"', ""])
    '{"a","b, \\"c\\"",""}'
    """
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def index_entries(value: Mapping[str, Any], index: Literal[False] | Sequence[str] | None) -> list[Entry]:
    """Return the index entries of a value: its texts in pieces, each to be embedded.

    Without paths these are the value's `text`, as in records (of a message, the whole text that `text` begins), or
    else the whole value.

    >>> [(entry.field_name, entry.text) for entry in index_entries({"text": "tea", "at": 7}, None)]
    [('text', 'tea')]
    >>> [(entry.field_name, entry.text) for entry in index_entries({"tags": ["a", "b"]}, ["tags[*]"])]
    [('tags[*].0', 'a'), ('tags[*].1', 'b')]
    """
    if index is False:
        return []
    paths = list(index) if index is not None else ["text" if isinstance(value.get("text"), str) else WHOLE_VALUE]
    found: dict[str, Entry] = {}
    for path in paths:
        texts = _texts_at(value, path)
        for number, text in enumerate(texts):
            name = f"{path}.{number}" if len(texts) > 1 else path
            # Nothing can be found by an empty text, and some providers refuse it.
            if text.strip():
                found |= {entry.field_name: entry for entry in entries(name, storable(text), value)}
    return list(found.values())


def _texts_at(value: Mapping[str, Any], path: str) -> list[str]:
    if path == "text" and isinstance(value.get("text"), str):
        return [whole_text(value)]
    return get_text_at_path(value, tokenize_path(path) if path != WHOLE_VALUE else WHOLE_VALUE)


def entries_of_fields(value: Mapping[str, Any], field_names: Iterable[str]) -> list[Entry]:
    """Return the index entries of a value by the paths behind some field names, as far as the value still has them.

    >>> [entry.field_name for entry in entries_of_fields({"text": "tea", "tags": ["a", "b"]}, ["text", "tags[*].1"])]
    ['text', 'tags[*].0', 'tags[*].1']
    """
    found: dict[str, Entry] = {}
    for name in field_names:
        field, _, _ = name.partition("#")  # of a piece, the field's own
        path, _, number = field.rpartition(".")
        for candidate in (field, path) if number.isdigit() else (field,):
            entries_there = {entry.field_name: entry for entry in index_entries(value, [candidate])}
            if field in entries_there:
                found |= entries_there
                break
    return list(found.values())


def text_of_field(value: Mapping[str, Any], name: str) -> str | None:
    """Return the text of an index entry of a value; None if the value has no such entry."""
    return next((entry.text for entry in entries_of_fields(value, [name]) if entry.field_name == name), None)
