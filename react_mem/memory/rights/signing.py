"""Signed receipts: whoever has the server's public key can tell that it made a receipt, and that nobody changed it."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from langgraph.store.base import BaseStore
from pydantic import BaseModel

from react_mem.memory.model.receipt import Receipt
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.transactions import Guard, compare_and_set

_PLACE = (("react_mem", "receipts"), "ed25519")
"""Place of the key that is made once, in a database without a master key, where the operator gives none."""

_PURPOSE = "receipts"
_PREFIX = b"react-mem receipt 1\n"
_KEY_BYTES = 32


class SignedReceipt(BaseModel, extra="forbid", frozen=True):
    """Receipt with the server's signature. It names nobody: who knows a user's id can tell whether it is theirs.

    Args:
        receipt: What was removed, and what was found of it afterwards.
        salt: Random characters, so that nobody can tell from two receipts that they are the same user's.
        subject: The SHA-256 of the salt and the user's id.
        public_key: The server's, as base64.
        signature: Ed25519 over all of the above, as base64.
    """

    receipt: Receipt
    salt: str
    subject: str
    public_key: str
    signature: str = ""

    def is_of(self, user_id: str) -> bool:
        """Return whether it is about a user."""
        return secrets.compare_digest(self.subject, _subject(self.salt, user_id))

    def is_signed_by(self, public_key: str) -> bool:
        """Return whether it is unchanged since it was signed by the key of a server.

        Args:
            public_key: The key, as base64.
        """
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
            key.verify(base64.b64decode(self.signature, validate=True), self._signed())
        except (InvalidSignature, ValueError):
            return False
        return True

    def _signed(self) -> bytes:
        """Return the bytes that are signed: the same however the file was laid out."""
        said = self.model_dump(mode="json", exclude={"signature"})
        return _PREFIX + json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


async def sign(store: BaseStore, user_id: str, receipt: Receipt) -> SignedReceipt:
    """Return a receipt with the signature of the server's key.

    Args:
        store: The store, which has the key.
        user_id: Whom the receipt is about.
        receipt: The receipt.

    Raises:
        EncryptionKeyError: If the master key is not that of the database.
    """
    key = await _private_key(store)
    salt = secrets.token_urlsafe(16)
    unsigned = SignedReceipt(receipt=receipt, salt=salt, subject=_subject(salt, user_id), public_key=public_half(key))
    signature = base64.b64encode(key.sign(unsigned._signed())).decode()
    return unsigned.model_copy(update={"signature": signature})


async def public_key(store: BaseStore) -> str:
    """Return the public key by which the receipts of a server are verified, as base64."""
    return public_half(await _private_key(store))


def public_half(key: Ed25519PrivateKey) -> str:
    """Return the public key of a private one, as base64."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


async def _private_key(store: BaseStore) -> Ed25519PrivateKey:
    """Return the key of the server: the operator's, else of the master key, else one that is made once and kept."""
    given = getattr(store, "receipt_key", None)
    if isinstance(given, Ed25519PrivateKey):
        return given
    if isinstance(store, MemoryStore) and store.keys is not None:
        return Ed25519PrivateKey.from_private_bytes(await store.keys.derive(_PURPOSE))
    kept = await _kept(store)
    if kept is None:
        made = {"private_key": base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()}
        # another process may be faster: then its key is the server's
        kept = made if await compare_and_set(store, Guard(*_PLACE, None), made) else await _kept(store)
    assert kept is not None  # noqa: S101 - it was there when ours was not written
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(kept["private_key"]))


async def _kept(store: BaseStore) -> dict[str, Any] | None:
    item = await store.aget(*_PLACE, refresh_ttl=False)
    return item.value if item is not None else None


def _subject(salt: str, user_id: str) -> str:
    return hashlib.sha256(f"{salt}\n{user_id}".encode()).hexdigest()
