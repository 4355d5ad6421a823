"""Derivation of keys from a secret, one for each purpose, so that none is ever used for two."""

from __future__ import annotations

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
"""Bytes of every key: AES-256, HMAC-SHA256."""


def derived_key(secret: bytes, purpose: str) -> bytes:
    """Return the key of a secret for a purpose (HKDF-SHA256).

    Args:
        secret: Random bytes.
        purpose: What it is for; another purpose gives a key that tells nothing of this one.
    """
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=f"react-mem/{purpose}".encode()).derive(secret)


class KeyedHash:
    """HMAC-SHA256 under one key, made ready once: starting with the key each time takes four times as long.

    Args:
        key: The key.
    """

    def __init__(self, key: bytes) -> None:
        self._begun = HMAC(key, SHA256())

    def digest(self, *parts: bytes) -> bytes:
        """Return the hash of parts, one after another: 32 bytes."""
        begun = self._begun.copy()
        for part in parts:
            begun.update(part)
        return begun.finalize()
