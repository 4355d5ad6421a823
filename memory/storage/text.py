"""Values as PostgreSQL's jsonb takes them, and the texts in them that are embedded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import get_text_at_path, tokenize_path

from memory.records import MAX_INDEXED_CHARS

REPLACEMENT = "\ufffd"
WHOLE_VALUE = "$"


def storable(value: Any) -> Any:
    """Return a JSON value with what jsonb refuses, NUL and lone surrogates, replaced by U+FFFD: visibly, not lost.

    >>> storable({"text": ["a\\x00b", "\\ud800"]})
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


def to_json(value: Any) -> str:
    """Return a value as JSON that jsonb accepts.

    Raises:
        TypeError: If it holds something that is no JSON.
        ValueError: If it holds NaN or an infinity, which JSON does not have.
    """
    return json.dumps(storable(value), ensure_ascii=False, allow_nan=False)


def indexed_texts(value: Mapping[str, Any], index: Literal[False] | Sequence[str] | None) -> dict[str, str]:
    """Return what of a value is embedded, by field name, each at most `MAX_INDEXED_CHARS` long.

    Without paths it is the value's `text`, as records have it, and the whole value where there is none.

    >>> indexed_texts({"text": "tea", "at": 7}, None)
    {'text': 'tea'}
    >>> indexed_texts({"tags": ["a", "b"]}, ["tags[*]"])
    {'tags[*].0': 'a', 'tags[*].1': 'b'}
    """
    if index is False:
        return {}
    paths = list(index) if index is not None else ["text" if isinstance(value.get("text"), str) else WHOLE_VALUE]
    found: dict[str, str] = {}
    for path in paths:
        texts = get_text_at_path(value, tokenize_path(path) if path != WHOLE_VALUE else WHOLE_VALUE)
        for number, text in enumerate(texts):
            name = f"{path}.{number}" if len(texts) > 1 else path
            # Nothing can be found by an empty text, and some providers refuse it.
            if text.strip():
                found[name] = storable(text)[:MAX_INDEXED_CHARS]
    return found


def text_of_field(value: Mapping[str, Any], field_name: str) -> str | None:
    """Return the text that `indexed_texts` gave this field name, or None if the value no longer has it."""
    path, _, number = field_name.rpartition(".")
    for candidate in (field_name, path) if number.isdigit() else (field_name,):
        text = indexed_texts(value, [candidate]).get(field_name)
        if text is not None:
            return text
    return None


def vector_literal(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it.

    >>> vector_literal([0.5, 1.0])
    '[0.5,1.0]'
    """
    return "[" + ",".join(map(repr, vector)) + "]"
