"""Filters of searches over sealed items: the database tests the skeleton's fields, this process all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.sealing.sealed_entries import KEYED, PLAIN, has_skeleton
from react_mem.memory.store.searches import Parameters, of_sessions
from react_mem.memory.store.stored_text import storable

_MISSING = None


@dataclass(frozen=True)
class SplitFilter:
    """A filter in parts.

    Args:
        plain: Conditions on readable fields.
        keyed: Hashed fields with their possible values.
        rest: Conditions on opened values.
    """

    plain: dict[str, Any] = field(default_factory=dict)
    keyed: dict[str, list[str]] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str, conditions: Mapping[str, Any] | None, key: OwnerKey | None) -> SplitFilter:
        """Return the parts of a filter over a namespace.

        Args:
            path: The namespace, its labels joined by dots.
            key: The owner's key; None for several owners, or for an owner without sealed rows.
        """
        found = cls()
        for name, expected in storable(conditions or {}).items():
            if not has_skeleton(path):
                found.rest[name] = expected
            elif name in PLAIN and _is_flat(expected):
                found.plain[name] = expected
            elif name in KEYED and key is not None and isinstance(expected, str):
                found.keyed[name] = list(dict.fromkeys([key.keyed(expected) if expected else "", expected]))
            else:
                found.rest[name] = expected
        return found

    def of_keyed(self, parameters: Parameters, within: str | None) -> str:
        """Return the SQL conditions on hashed fields, each after an AND.

        Args:
            within: The owner, if items are listed under row-level security; else None.
        """
        return "".join(
            f" AND {condition}"
            for name, values in self.keyed.items()
            for condition in _keyed(name, values, parameters, within)
        )

    def passes(self, value: Mapping[str, Any]) -> bool:
        """Return true if an opened value meets the conditions outside the database."""
        return not self.rest or meets(value, self.rest)


def _keyed(name: str, values: list[str], parameters: Parameters, within: str | None) -> Iterator[str]:
    if name != "session_id":
        yield f"s.value ->> {parameters.add(name)}::text = ANY({parameters.add(values)}::text[])"
        return
    # in the words of its index (schema/0025_listed_fields.sql)
    yield f"s.value ->> 'session_id' = ANY({parameters.add(values)}::text[])"
    if within is not None:
        yield of_sessions(within, values, parameters)


def meets(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Return true if a value meets a filter, by the rules of the SQL in `memory.store.searches`.

    >>> meets({"n": 9, "of": {"who": "Ann"}}, {"n": {"$gte": 9, "$lt": 10}, "of": {"who": "Ann"}, "gone": None})
    True
    >>> meets({"n": "9"}, {"n": {"$gt": 1}}), meets({"n": True}, {"n": 1}), meets({"n": 1.0}, {"n": 1})
    (False, False, True)
    """
    return all(_meets(value.get(name, _MISSING), expected) for name, expected in conditions.items())


def _meets(actual: Any, expected: Any) -> bool:
    if not isinstance(expected, Mapping):
        return _equals(actual, expected)
    if not any(str(name).startswith("$") for name in expected):
        inner = actual if isinstance(actual, Mapping) else {}
        return all(_meets(inner.get(name, _MISSING), part) for name, part in expected.items())
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
