"""The data keys of one owner: encryption with AES-256-GCM, and keyed hashes of ids.

A sealed value is one byte for the format, four for the version of the data key, a nonce of twelve, and the
ciphertext with its tag. The nonce is synthetic: an HMAC over the associated data and the value. So encryption
is deterministic, stored values can be compared, and a nonce repeats only for the same value in the same place.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from react_mem.errors import SealError

# Derivation of keys from a secret, one for each purpose, so that none is ever used for two.

KEY_BYTES = 32
"""Bytes of every key: AES-256, HMAC-SHA256."""


def derived_key(secret: bytes, purpose: str) -> bytes:
    """Return the key derived from a secret for a purpose (HKDF-SHA256); keys of different purposes are independent."""
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=f"react-mem/{purpose}".encode()).derive(secret)


class KeyedHash:
    """HMAC-SHA256 under one key, initialised once, which makes each hash four times as fast."""

    def __init__(self, key: bytes) -> None:
        self._begun = HMAC(key, SHA256())

    def digest(self, *parts: bytes) -> bytes:
        """Return the hash of the concatenated parts: 32 bytes."""
        begun = self._begun.copy()
        for part in parts:
            begun.update(part)
        return begun.finalize()


_FORMAT = b"\x01"
_VERSION_BYTES = 4
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEADER_BYTES = len(_FORMAT) + _VERSION_BYTES
_KEYED_BYTES = 24
"""192 bits of an id: among a million million records, two ids collide with a chance of 1 in 10^34."""

SEAL_BYTES = _HEADER_BYTES + _NONCE_BYTES + _TAG_BYTES
"""Bytes that encryption adds to a value."""


class DataKey(NamedTuple):
    """An unwrapped data key: 32 random bytes for encryption, and 32 for ids, which all versions of an owner share."""

    version: int
    secret: bytes


class OwnerKey:
    """All data keys of one owner, the current one first: seals and opens values, and hashes ids."""

    def __init__(self, owner: str, keys: Sequence[DataKey]) -> None:
        self.owner = owner
        self.versions = tuple(key.version for key in keys)
        self._ciphers = {key.version: _ciphers(key.secret) for key in keys}
        self._shared = keys[0].secret[KEY_BYTES:]
        self._ids = KeyedHash(derived_key(self._shared, "ids"))

    @property
    def version(self) -> int:
        """Return the version that seals."""
        return self.versions[0]

    def seal(self, plain: bytes, bound: bytes, *, version: int | None = None) -> bytes:
        """Return a value encrypted, bound to its place: it opens nowhere else.

        An older version of the data key serves to compare with stored values.
        """
        version = self.version if version is None else version
        cipher, nonces = self._ciphers[version]
        # with its length, so that no other pair of the two is the same bytes
        nonce = nonces.digest(len(bound).to_bytes(8, "big"), bound, plain)[:_NONCE_BYTES]
        header = _FORMAT + version.to_bytes(_VERSION_BYTES, "big")
        return header + nonce + cipher.encrypt(nonce, plain, header + bound)

    def open(self, sealed: bytes, bound: bytes) -> bytes:
        """Return the decrypted value of the place `bound`.

        A SealError says that it was changed or moved, or, with its `version` set, that its data key is unknown here.
        """
        if len(sealed) < SEAL_BYTES or sealed[:1] != _FORMAT:
            raise SealError("A sealed value is damaged: it is too short, or in a format of a later version.")
        version = sealed_version(sealed)
        if version not in self._ciphers:
            raise SealError("A value was sealed with a data key that is not there any more.", version=version)
        header, nonce = sealed[:_HEADER_BYTES], sealed[_HEADER_BYTES : _HEADER_BYTES + _NONCE_BYTES]
        cipher, _ = self._ciphers[version]
        try:
            return cipher.decrypt(nonce, sealed[_HEADER_BYTES + _NONCE_BYTES :], header + bound)
        except InvalidTag:
            raise SealError("A sealed value does not open: it was changed, or moved to another place.") from None

    def renewed(self) -> DataKey:
        """Return a new data key of the owner, with unchanged hashes of ids."""
        return DataKey(secrets.randbits(8 * _VERSION_BYTES), os.urandom(KEY_BYTES) + self._shared)

    def keyed(self, text: str) -> str:
        """Return the keyed hash of an id: 32 characters, the same under every version of the owner's key."""
        digest = self._ids.digest(text.encode("utf-8", "surrogatepass"))
        return base64.urlsafe_b64encode(digest[:_KEYED_BYTES]).decode()

    def derive(self, purpose: str) -> bytes:
        """Return a key for a purpose, the same under every version of the owner's key."""
        return derived_key(self._shared, f"for/{purpose}")


def sealed_version(sealed: bytes) -> int:
    """Return the version of the data key that sealed a value."""
    return int.from_bytes(sealed[len(_FORMAT) : _HEADER_BYTES], "big")


def _ciphers(secret: bytes) -> tuple[AESGCM, KeyedHash]:
    """Return the cipher and the hash for nonces."""
    key = secret[:KEY_BYTES]
    return AESGCM(derived_key(key, "seal")), KeyedHash(derived_key(key, "nonce"))
