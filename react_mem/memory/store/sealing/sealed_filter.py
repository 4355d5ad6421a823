"""Filters over sealed items in parts: the database tests the skeletons, this process the opened values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph.store.base import SearchOp

from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.sealing.sealed_entries import KEYED, PLAIN, has_skeleton
from react_mem.memory.store.stored_text import storable


class SealedFilter(NamedTuple):
    """Conditions beside those on readable fields: the values of hashed fields, and conditions on opened values."""

    keyed: dict[str, list[str]]
    rest: dict[str, Any]


def split(op: SearchOp, key: OwnerKey | None) -> tuple[SearchOp, SealedFilter]:
    """Return a search with the conditions on readable fields alone, and its other conditions.

    The key is None for several owners, or for an owner without sealed rows.
    """
    plain: dict[str, Any] = {}
    sealed = SealedFilter({}, {})
    has_fields = has_skeleton(".".join(op.namespace_prefix))
    for name, expected in storable(op.filter or {}).items():
        if has_fields and name in PLAIN and _is_flat(expected):
            plain[name] = expected
        elif has_fields and name in KEYED and key is not None and isinstance(expected, str):
            sealed.keyed[name] = list(dict.fromkeys([key.keyed(expected) if expected else "", expected]))
        else:
            sealed.rest[name] = expected
    return op._replace(filter=plain), sealed


def meets(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Return true if a value meets a filter, by the rules of the SQL in `memory.store.searches`.

    >>> meets({"n": 9, "of": {"who": "Ann"}}, {"n": {"$gte": 9, "$lt": 10}, "of": {"who": "Ann"}, "gone": None})
    True
    >>> meets({"n": "9"}, {"n": {"$gt": 1}}), meets({"n": True}, {"n": 1}), meets({"n": 1.0}, {"n": 1})
    (False, False, True)
    """
    return all(_meets(value.get(name), expected) for name, expected in conditions.items())


def _meets(actual: Any, expected: Any) -> bool:
    if not isinstance(expected, Mapping):
        return _equals(actual, expected)
    if not any(str(name).startswith("$") for name in expected):
        return meets(actual if isinstance(actual, Mapping) else {}, expected)
    return all(_compares(actual, operator, operand) for operator, operand in expected.items())


def _compares(actual: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _equals(actual, operand) is (operator == "$eq")
    numbers = _is_number(actual) and _is_number(operand)
    if not numbers and not (isinstance(actual, str) and isinstance(operand, str)):
        return False
    order = int(actual > operand) - int(actual < operand)
    return {"$gt": order > 0, "$gte": order >= 0, "$lt": order < 0, "$lte": order <= 0}[operator]


def _equals(one: Any, other: Any) -> bool:
    """Return true if two JSON values are equal; unlike in Python, true is not 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equals(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equals, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flat(expected: Any) -> bool:
    """Return true if an operand can be compared with a readable field."""
    if isinstance(expected, Mapping):
        return bool(expected) and all(
            str(name).startswith("$") and _is_flat(part) and not isinstance(part, Mapping)
            for name, part in expected.items()
        )
    return expected is None or isinstance(expected, str | int | float)
