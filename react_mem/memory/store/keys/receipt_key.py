"""The key that an operator has receipts signed with (Ed25519), in place of one that the database keeps."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from react_mem.errors import StorageError

RECEIPT_KEY, RECEIPT_KEY_FILE = "MEMORY_RECEIPT_KEY", "MEMORY_RECEIPT_KEY_FILE"

KEY_BYTES = 32
_MOST_BYTES = 10_000
_WANTED = (
    "an Ed25519 private key is wanted: PEM without a passphrase, as `openssl genpkey -algorithm ed25519 -out FILE` "
    f"writes it, or its {KEY_BYTES} bytes in base64 or hex"
)


def make_receipt_key(text: str | None, file: Path | None) -> Ed25519PrivateKey | None:
    """Return the key that receipts are signed with, or None where none is given. Blocking: it may read a file.

    Args:
        text: The key.
        file: A file with it.

    Raises:
        StorageError: If it cannot be used; the message names the variable and the cure, and holds nothing of the key.
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
        # without its text, which may be a key with one character wrong
        raise StorageError(f"{name} holds no key that can be used; {_WANTED}.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise StorageError(f"{name} holds a key of another kind ({type(key).__name__.lstrip('_')}); {_WANTED}.")
    return key


def _raw(text: str) -> bytes:
    if len(text) == 2 * KEY_BYTES:
        return bytes.fromhex(text)
    return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
