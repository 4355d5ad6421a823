"""Serialisation of checkpoints with an allowlist of types.

LangGraph's own serialiser calls any constructor that a row names, with the arguments in the row: write access
to a checkpoint is code execution in the process that reads it. Here a row is deserialised into messages, plain
values and the types that a graph declares; anything else stays the data that it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any

import numpy as np
import psycopg
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from numpy.typing import NDArray
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

from react_mem.errors import CheckpointRefused, SealError
from react_mem.memory.store.keys.key_ring import KeyedHash

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
