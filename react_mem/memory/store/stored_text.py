"""Values as PostgreSQL's jsonb accepts them, and their texts that are embedded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any, Literal

import numpy as np
import psycopg
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import get_text_at_path, tokenize_path
from numpy.typing import NDArray
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

from react_mem.errors import CheckpointRefused, SealError
from react_mem.memory.index.entries import Entry, entries, whole_text
from react_mem.memory.store.key_ring import KeyedHash

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


# Serialisation of checkpoints with an allowlist of types.

_READABLE = frozenset({"null", "bytes", "bytearray", "msgpack"})
"""Type tags that are read: not `pickle`, which is code, nor `json`, the form of 2024, which names constructors."""

_CIPHER = "aes256gcm"
_SALT_BYTES = 16
_NONCE_BYTES = 12


@dataclass(frozen=True)
class Plain:
    """A plain value, such as a text, to be stored as LangGraph stores lists and messages: sealed.

    LangGraph serialises only non-plain values, and stores plain ones in the checkpoint itself, readable for
    anybody.
    """

    value: str | float | int


class StrictSerializer(JsonPlusSerializer):
    """`JsonPlusSerializer` that builds LangChain's messages, LangGraph's own types and plain values, and nothing else.

    LangGraph's own calls any constructor that a row names, with the arguments in the row: write access to a checkpoint
    would be code execution in the process that reads it. Here whatever is not on the list stays the data that it is.
    A graph's own types are added by `with_msgpack_allowlist`, which `BaseCheckpointSaver.with_allowlist` calls.
    """

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the type tag and the bytes of a value."""
        return super().dumps_typed(obj.value if isinstance(obj, Plain) else obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of a type tag and its bytes; raise CheckpointRefused if the type is not on the allowlist."""
        form, packed = data
        if "+" in form:
            raise CheckpointRefused(
                "A checkpoint of this thread is encrypted, and no master key is set. Set MEMORY_ENCRYPTION_KEY (or "
                "MEMORY_ENCRYPTION_KEY_FILE, or MEMORY_ENCRYPTION_KEY_FUNCTION) as it was when the thread was written."
            )
        if form not in _READABLE:
            # the row's own word is shown only if it is one of LangGraph's
            shown = form if form in ("json", "pickle") else "an unknown form"
            raise CheckpointRefused(
                f"A checkpoint holds a value as {shown}, which is not read: to read it may run code. A thread that "
                "LangGraph wrote before 2025, or with pickle_fallback, is read by LangGraph's AsyncPostgresSaver "
                "alone; start another."
            )
        return super().loads_typed((form, packed))


def sealing_serializer(key: bytes) -> EncryptedSerializer:
    """Return a `StrictSerializer` that encrypts its values with a key of 32 bytes."""
    return EncryptedSerializer(CheckpointCipher(key), StrictSerializer())


class CheckpointCipher:
    """AES-256-GCM with a derived key for each value, so that no pair of key and nonce ever repeats."""

    def __init__(self, key: bytes) -> None:
        self._keys = KeyedHash(key)

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Return the name of the cipher, and the ciphertext."""
        salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
        return _CIPHER, salt + nonce + self._of(salt).encrypt(nonce, plaintext, None)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """Return the plaintext; raise SealError if it was changed, or encrypted with another key or cipher."""
        salt, nonce = ciphertext[:_SALT_BYTES], ciphertext[_SALT_BYTES : _SALT_BYTES + _NONCE_BYTES]
        try:
            if ciphername == _CIPHER:
                return self._of(salt).decrypt(nonce, ciphertext[_SALT_BYTES + _NONCE_BYTES :], None)
        except (InvalidTag, ValueError):
            raise SealError(
                "A checkpoint of this thread does not open: it was changed, or encrypted in another database. Restore "
                "the tables checkpoint_blobs and checkpoint_writes together with memory_keys."
            ) from None
        raise SealError("A checkpoint of this thread is encrypted by something else, such as another application.")

    def _of(self, salt: bytes) -> AESGCM:
        return AESGCM(self._keys.digest(salt))


# Values in PostgreSQL's binary form, for the types that psycopg has none for.


class Binary:
    """A parameter already in binary form; the statement names its type."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class _BinaryDumper(Dumper):
    format = Format.BINARY
    oid = 0  # the server takes it from the statement

    def dump(self, obj: Binary) -> bytes:
        return obj.data


psycopg.adapters.register_dumper(Binary, _BinaryDumper)


def vector(numbers: Sequence[float]) -> bytes:
    """Return a `vector` in binary form."""
    return Vector(list(numbers)).to_binary()


def numbers(data: Binary) -> NDArray[np.float32]:
    """Return the numbers of a `vector`."""
    return np.frombuffer(data.data, dtype=">f4", offset=4).astype(np.float32)


def array(element_type: int, elements: Sequence[bytes | None]) -> Binary:
    """Return an array in binary form, of elements in binary form (None is NULL) and the oid of their type."""
    parts = [pack(">iiIii", 1, int(None in elements), element_type, len(elements), 1)]
    for element in elements:
        parts.append(b"\xff\xff\xff\xff" if element is None else pack(">i", len(element)) + element)
    # of no elements it has no dimension either
    return Binary(b"".join(parts) if elements else pack(">iiI", 0, 0, element_type))
