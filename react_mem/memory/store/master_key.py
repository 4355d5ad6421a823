"""The master key, which wraps the data keys of owners and comes from outside the database.

It is 32 bytes in a variable or a file, or lies in a key service (KMS). During a rotation the former master
keys are set too, and only unwrap.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from react_mem.errors import EncryptionKeyError, StorageError

KEY, FILE, FUNCTION, FORMER = (
    "MEMORY_ENCRYPTION_KEY",
    "MEMORY_ENCRYPTION_KEY_FILE",
    "MEMORY_ENCRYPTION_KEY_FUNCTION",
    "MEMORY_ENCRYPTION_KEY_FORMER",
)
_NONCE_BYTES = 12
_DIGEST_BYTES = 16

# Derivation of keys from a secret, one for each purpose, so that none is ever used for two.

KEY_BYTES = 32
"""Bytes of every key: AES-256, HMAC-SHA256."""


def derived_key(secret: bytes, purpose: str) -> bytes:
    """Return the key derived from a secret for a purpose (HKDF-SHA256); keys of different purposes are independent."""
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=f"react-mem/{purpose}".encode()).derive(secret)


@runtime_checkable
class KeyService(Protocol):
    """A key service (KMS), which keeps its key to itself: the result of `MEMORY_ENCRYPTION_KEY_FUNCTION`."""

    key_id: str
    """Name of the wrapping key, unique and not secret: it is stored in the database and logged."""

    async def wrap(self, key: bytes) -> bytes:
        """Return 80 bytes wrapped: 64 of an owner's keys, and a digest of 16 that ties them to the owner."""

    async def unwrap(self, wrapped: bytes) -> bytes:
        """Return the wrapped bytes, or raise."""


class LocalMasterKey:
    """A master key of 32 bytes in this process."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise EncryptionKeyError(f"A master key has {KEY_BYTES} bytes, and this one has {len(key)}. {_MAKE_ONE}")
        self.id = derived_key(key, "id")[:8].hex()
        self._cipher = AESGCM(derived_key(key, "wrap"))

    async def wrap(self, secret: bytes, bound: bytes) -> bytes:
        """Return a secret wrapped and bound to associated data."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, bound)

    async def unwrap(self, wrapped: bytes, bound: bytes) -> bytes:
        """Return a wrapped secret; raise EncryptionKeyError if another key wrapped it, or it is bound to other data."""
        try:
            return self._cipher.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], bound)
        except (InvalidTag, ValueError):
            raise EncryptionKeyError(_damaged(self.id)) from None


class ServiceMasterKey:
    """A master key in a key service."""

    def __init__(self, service: KeyService) -> None:
        self._service = service

    @property
    def id(self) -> str:
        """Return the service's name of the key."""
        return self._service.key_id

    async def wrap(self, secret: bytes, bound: bytes) -> bytes:
        """Return a secret wrapped and bound to associated data."""
        # not every service supports associated data
        return await self._asked(self._service.wrap, secret + _digest(bound))

    async def unwrap(self, wrapped: bytes, bound: bytes) -> bytes:
        """Return a wrapped secret; raise EncryptionKeyError if the service fails, or it is bound to other data."""
        plain = await self._asked(self._service.unwrap, wrapped)
        secret, digest = plain[:-_DIGEST_BYTES], plain[-_DIGEST_BYTES:]
        if digest != _digest(bound):
            raise EncryptionKeyError(_damaged(self.id))
        return secret

    async def _asked(self, call: Any, given: bytes) -> bytes:
        try:
            return bytes(await call(given))
        except Exception as error:  # any error of the service's library
            raise EncryptionKeyError(
                f"The key service with the master key {self.id!r} failed ({type(error).__name__}). See that it can be "
                "reached and that this process may wrap and unwrap with that key."
            ) from error


KeyWrapper = LocalMasterKey | ServiceMasterKey


class MasterKey:
    """The current master key, with former ones that only unwrap."""

    def __init__(self, current: KeyWrapper, former: Sequence[KeyWrapper] = ()) -> None:
        self._current = current
        self._known = {each.id: each for each in (*former, current)}

    @property
    def id(self) -> str:
        """Return the name of the current key, which reveals nothing about it."""
        return self._current.id

    async def wrap(self, secret: bytes, bound: bytes) -> bytes:
        """Return a secret wrapped by the current key and bound to associated data."""
        return await self._current.wrap(secret, bound)

    async def unwrap(self, wrapped: bytes, bound: bytes, by: str) -> bytes:
        """Return a secret wrapped by the key of the id `by`; raise EncryptionKeyError if it is not set, or damaged."""
        if by not in self._known:
            raise EncryptionKeyError(
                f"This database is encrypted under the master key {by!r}, and set is {', '.join(sorted(self._known))}. "
                f"Set {KEY}, {FILE} or {FUNCTION} to the right one, or {FORMER} beside it to the one before. "
                "Nothing was changed."
            )
        return await self._known[by].unwrap(wrapped, bound)


def make_master_key(key: str | None, file: Path | None, function: str | None, former: str | None) -> MasterKey | None:
    """Return the master key of the settings, or None if none is set. Blocking: it may read a file.

    The file has the key in its first line and former keys in the next; the function is a path
    `package.module:function` that returns a `KeyService`; former keys, or such paths, are separated by commas.
    An EncryptionKeyError names the variable and the cure.
    """
    named = {KEY: key, FILE: file, FUNCTION: function}
    given = [name for name, value in named.items() if value]
    if len(given) > 1:
        raise EncryptionKeyError(f"{' and '.join(given)} both name the master key; keep one of them.")
    if not given:
        if former:
            raise EncryptionKeyError(f"{FORMER} names former master keys, and none is set. Set {KEY} as well.")
        return None
    texts = [(FILE, line) for line in _lines(file)] if file else [(given[0], str(key or function))]
    texts += [(FORMER, part.strip()) for part in (former or "").split(",") if part.strip()]
    # neither base64 nor hex has a colon
    current, *before = (
        ServiceMasterKey(_service(name, text)) if ":" in text or name == FUNCTION else _local(name, text)
        for name, text in texts
    )
    return MasterKey(current, before)


def new_master_key() -> str:
    """Return a new random master key in base64."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


_MAKE_ONE = "Make one with `react-mem keys new`, and keep it where the database's backups are not."


def _damaged(by: str) -> str:
    return (
        f"A data key of this database cannot be unwrapped by the master key {by!r}: its row was changed, or moved from "
        "another owner. Restore the table memory_keys from a backup. Nothing was changed."
    )


def _digest(bound: bytes) -> bytes:
    return hashlib.sha256(bound).digest()[:_DIGEST_BYTES]


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EncryptionKeyError(
            f"{FILE} names a file that cannot be read ({type(error).__name__}): {file}. {_MAKE_ONE}"
        ) from None
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise EncryptionKeyError(f"{FILE} names a file that holds no key: {file}. {_MAKE_ONE}")
    return lines


def _local(name: str, text: str) -> LocalMasterKey:
    try:
        return LocalMasterKey(_raw(text))
    except EncryptionKeyError as error:
        raise EncryptionKeyError(f"{name}: {error}") from None
    except (ValueError, binascii.Error):
        # without its text, which may be a key with a typo
        raise EncryptionKeyError(f"{name}: a master key is {KEY_BYTES} bytes in base64 or hex. {_MAKE_ONE}") from None


def _service(name: str, path: str) -> KeyService:
    wanted = f"{name}: {path!r} has to be the path package.module:function of what returns a key service"
    if ":" not in path:
        raise EncryptionKeyError(f"{wanted}.")
    try:
        service = resolve_name(path)()
    except Exception as error:  # any error of the user's module
        raise EncryptionKeyError(f"{wanted}; it fails with {type(error).__name__}.") from error
    if not isinstance(service, KeyService) or not all(
        inspect.iscoroutinefunction(call) for call in (service.wrap, service.unwrap)
    ):
        raise EncryptionKeyError(
            f"{wanted}; it returns a {type(service).__name__}, which lacks `key_id`, or `wrap` and `unwrap` as "
            "async methods."
        )
    return service


# The operator's signing key for receipts (Ed25519), in place of the database's own.

RECEIPT_KEY, RECEIPT_KEY_FILE = "MEMORY_RECEIPT_KEY", "MEMORY_RECEIPT_KEY_FILE"

_MOST_BYTES = 10_000
_WANTED = (
    "an Ed25519 private key is wanted: PEM without a passphrase, as `openssl genpkey -algorithm ed25519 -out FILE` "
    f"writes it, or its {KEY_BYTES} bytes in base64 or hex"
)


def make_receipt_key(text: str | None, file: Path | None) -> Ed25519PrivateKey | None:
    """Return the operator's signing key for receipts, or None if none is set. Blocking: it may read a file.

    A StorageError names the variable and the cure, and contains nothing of the key.
    """
    if text and file is not None:
        raise StorageError(f"{RECEIPT_KEY} and {RECEIPT_KEY_FILE} say the same; keep one of them.")
    if text:
        return _read(RECEIPT_KEY, text)
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            return _read(RECEIPT_KEY_FILE, opened.read(_MOST_BYTES).decode("ascii"))
    except (OSError, UnicodeDecodeError) as error:
        cause = type(error).__name__
        raise StorageError(
            f"{RECEIPT_KEY_FILE} names a file that cannot be read ({cause}): {file}; {_WANTED}."
        ) from None


def _read(name: str, text: str) -> Ed25519PrivateKey:
    text = text.strip()
    try:
        if text.startswith("-----"):
            # a variable of one line has its line ends written out
            key = load_pem_private_key(text.replace("\\n", "\n").encode(), None)
        else:
            key = Ed25519PrivateKey.from_private_bytes(_raw(text))
    except (ValueError, TypeError, UnsupportedAlgorithm, binascii.Error):
        # without its text, which may be a key with a typo
        raise StorageError(f"{name} holds no key that can be used; {_WANTED}.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise StorageError(f"{name} holds a key of another kind ({type(key).__name__.lstrip('_')}); {_WANTED}.")
    return key


def _raw(text: str) -> bytes:
    if len(text) == 2 * KEY_BYTES:
        return bytes.fromhex(text)
    return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
