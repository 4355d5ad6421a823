"""Filters of LangGraph's stores, applied to items that another search found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Return whether a value meets a filter as LangGraph's stores have it.

    >>> matches({"n": 9, "kind": "fact"}, {"kind": "fact", "n": {"$gte": 9, "$ne": 10}})
    True
    >>> matches({"n": None}, {"n": {"$gt": 1}})
    False
    """
    return all(_meets(value.get(name), condition) for name, condition in (conditions or {}).items())


_ORDERS = frozenset({"$gt", "$gte", "$lt", "$lte"})

_OPERATORS = frozenset({"$eq", "$ne", *_ORDERS})


def orders(conditions: Mapping[str, Any]) -> bool:
    """Return whether a filter asks for an order, which some stores cannot tell of a value that is missing.

    >>> orders({"metadata": {"price": {"$lt": 9}}}), orders({"kind": {"$ne": "fact"}})
    (True, False)

    Raises:
        ValueError: If it has an unknown operator.
    """
    found = False
    for name, condition in conditions.items():
        if not isinstance(condition, Mapping):
            continue
        named = {str(one) for one in condition}
        if not any(one.startswith("$") for one in named):
            found |= orders(condition)
        elif unknown := sorted(named - _OPERATORS):
            raise ValueError(f"{name}: a filter has no operator {unknown[0]!r}; it has {', '.join(sorted(_OPERATORS))}")
        else:
            found |= not named.isdisjoint(_ORDERS)
    return found


def _meets(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compares(value, operator, other) for operator, other in condition.items())
        return isinstance(value, Mapping) and matches(value, condition)
    if isinstance(condition, list | tuple):
        return isinstance(value, list | tuple) and len(value) == len(condition) and all(map(_meets, value, condition))
    return bool(value == condition)


def _compares(value: Any, operator: str, other: Any) -> bool:
    match operator:
        case "$eq":
            return bool(value == other)
        case "$ne":
            return bool(value != other)
        case "$gt" | "$gte" | "$lt" | "$lte":
            try:
                left, right = float(value), float(other)
            except (TypeError, ValueError):
                return False
            return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]
        case _:
            raise ValueError(f"a filter has no operator {operator!r}; it has {', '.join(sorted(_OPERATORS))}")
