"""Sealed items: a row of `store` under a keyed id, its value a skeleton and what is sealed.

Sealed together with its own id, a value says what it is the value of; bound to its row, it opens in no other.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from react_mem.errors import SealError
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.sealing.skeleton import skeleton_of

SEALED = ":sealed"
"""The field with what is sealed; an application that stores values of its own may well have one called `sealed`."""


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def is_sealed(value: Any) -> bool:
    """Return whether a stored value is sealed."""
    return isinstance(value, Mapping) and isinstance(value.get(SEALED), str)


def sealed_value(
    key: OwnerKey, prefix: str, item: str, value: Mapping[str, Any], *, version: int | None = None
) -> dict[str, Any]:
    """Return a value as it is stored, the same each time. Blocking, in proportion to its length.

    Args:
        key: The owner's.
        prefix: The item's namespace.
        item: The item's own key.
        value: The value, of what the database's JSON has (see `stored_text.storable`).
        version: The data key that seals it; by default the one in use.

    Raises:
        TypeError: If it holds something that is not JSON.
        ValueError: If it holds NaN or an infinity.
    """
    stored = key.keyed(item)
    plain = _canonical([item, value]).encode()
    sealed = key.seal(plain, _bound(prefix, stored), version=version)
    return {**skeleton_of(prefix, value, key.keyed), SEALED: b64encode(sealed).decode()}


def opened_value(key: OwnerKey, prefix: str, stored: str, value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return an item's own key and its value.

    Args:
        key: The owner's.
        prefix: The item's namespace.
        stored: The key of its row.
        value: The value of its row.

    Raises:
        SealError: If it does not open.
    """
    return opened_text(key, prefix, stored, value[SEALED])


def opened_text(key: OwnerKey, prefix: str, stored: str, sealed: str) -> tuple[str, dict[str, Any]]:
    """Return an item's own key and its value, of the text in the field `SEALED` of its row.

    Raises:
        SealError: If it does not open.
    """
    item, value = json.loads(opened_json(key, prefix, stored, sealed))
    return item, value


def opened_json(key: OwnerKey, prefix: str, stored: str, sealed: str) -> bytes:
    """Return what `items_of_json` reads, of the text in the field `SEALED` of a row.

    Raises:
        SealError: If it does not open.
    """
    try:
        data = b64decode(sealed, validate=True)
    except ValueError:
        raise SealError("A sealed value is damaged: it is not base64.") from None
    return key.open(data, _bound(prefix, stored))


def items_of_json(opened: Sequence[bytes]) -> list[tuple[str, dict[str, Any]]]:
    """Return items' own keys and their values, read as one text, which takes less than each by itself."""
    return [(item, value) for item, value in json.loads(b"[%b]" % b",".join(opened))]


def _canonical(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except TypeError:
        # names that are numbers and names that are text have no order before they are JSON
        return _canonical(json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False)))


def _bound(prefix: str, stored: str) -> bytes:
    # no namespace holds NUL, and keyed ids are of one length
    return f"{prefix}\0{stored}/value".encode()
