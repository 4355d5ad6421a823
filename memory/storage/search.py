"""The SQL of a search: all searches of a batch in one statement, each exact within its owner.

The stock store orders all tenants' vectors by the HNSW index, takes the first few dozen and then drops those of other
tenants. Here the namespace comes first: its vectors are found by prefix and compared one by one. Only a namespace that
has an index of its own (see `namespace_indexes`) is searched by that.

What of a namespace is nearest is a bounded number of candidates, from which the filter and repetitions are taken; where
too few are left, the caller asks again without the bound.

Statements are put together as text, of literals and placeholders only: psycopg's composing of them takes a third of a
small search.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langgraph.store.base import SearchOp

from memory.storage.binary import Binary
from memory.storage.text import storable

EXACT_SCAN_LIMIT = 10_000
"""Vectors of a namespace up to which every one is compared, and nothing is missed. Measured with 384 dimensions on a
busy machine of two cores: 2,000 vectors 1 to 4 ms, 10,000 8 to 15 ms, depending on how they lie on disk; twice as many
take twice as long, and by an index of 20,000 it is 1.5 ms."""

BY_INDEX = 2**62
"""What `total` says where an index was used, which does not tell."""

OTHER_MODEL = -1
"""The `search` of the row that says that the database's vectors are of another model than the query's."""

_CANDIDATES = 4
"""Candidates for each result wanted. An item has a candidate for each piece of its text, and a filter takes some away;
comparing is what costs, not passing on."""

_OPERATORS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

_COLUMNS = "s.prefix, s.key, s.value, s.created_at, s.updated_at, s.ttl_minutes"
# OFFSET 0 keeps the distance from being computed later: a vector carried through a window or a sort is 1.5 kB a row,
# which at 10,000 rows spills to disk, 40 ms instead of 10.
_EVERY_ONE = """
    SELECT compared.*, count(*) OVER () AS total FROM (
        SELECT v.prefix, v.key, v.embedding <=> {vector}::vector AS distance
        FROM store_vectors v WHERE {in_namespace} AND v.embedding IS NOT NULL OFFSET 0
    ) compared
"""
_BY_THE_INDEX = """
    (SELECT v.prefix, v.key, v.embedding <=> {vector}::vector AS distance, {total}::bigint AS total
     FROM store_vectors v WHERE v.prefix = {prefix} {passes}
     ORDER BY v.embedding::halfvec({dims}) <=> {vector}::vector::halfvec({dims}) LIMIT {candidates})
"""
_PASSES = "AND (SELECT TRUE {conditions} FROM store s WHERE s.prefix = v.prefix AND s.key = v.key)"
# Grouped before it is joined: an item may have several candidates.
_BY_DISTANCE = """
    (WITH near AS MATERIALIZED (
        SELECT * FROM ({found}) found ORDER BY distance, prefix, key LIMIT {candidates}
     )
     SELECT {number} AS search, counted.total, hit.*
     FROM (SELECT COALESCE(max(total), 0) AS total FROM near) counted LEFT JOIN LATERAL (
        SELECT {columns}, 1 - best.distance AS score
        FROM (
            SELECT near.prefix, near.key, min(near.distance) AS distance FROM near {join}
            GROUP BY near.prefix, near.key ORDER BY distance, near.prefix, near.key LIMIT {limit} OFFSET {offset}
        ) best JOIN store s ON s.prefix = best.prefix AND s.key = best.key
     ) hit ON TRUE)
"""
_BY_TIME = """
    (SELECT {number} AS search, 0::bigint AS total, {columns}, NULL::float8 AS score
     FROM store s WHERE {in_namespace} {conditions}
     ORDER BY s.updated_at DESC, s.prefix, s.key LIMIT {limit} OFFSET {offset})
"""
# Vectors of two models may have the same length: their distances would be numbers like any other.
_OTHER_MODEL = """
    (SELECT {number} AS search, 0::bigint AS total, NULL::text, NULL::text, NULL::jsonb, NULL::timestamptz,
        NULL::timestamptz, NULL::int, NULL::float8
     FROM memory_embedding WHERE name <> {model})
"""


@dataclass
class Parameters:
    """Parameters by name."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        """Take a value, and return the placeholder that stands for it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


class Statement(NamedTuple):
    """A statement, its parameters, and whether it uses an index that may miss rows."""

    query: bytes
    parameters: dict[str, Any]
    by_index: bool


@dataclass(frozen=True)
class Searches:
    """How searches are carried out.

    Args:
        model: What made the queries' vectors.
        dims: Their length.
        omit_expired: Whether expired items are left out.
    """

    model: str
    dims: int
    omit_expired: bool

    def statement(
        self,
        searches: Sequence[tuple[int, SearchOp, Binary | None]],
        *,
        bounded: bool,
        indexed: Callable[[str], Sequence[str]] = lambda path: (),
    ) -> Statement:
        """Return one statement for all searches.

        Its rows have `search` (the number given), `total` (how many vectors there are), `score` and the item's columns,
        in no order; a search by a vector that finds nothing has one row without an item.

        Args:
            searches: What to search, each with a number and its query's vector, or None to list by time.
            bounded: Whether the nearest few are enough to choose from; see `is_complete`.
            indexed: Returns the namespaces at a path and below it that have an index of their own.
        """
        parameters = Parameters()
        vectors = {id(vector): parameters.add(vector) for _, _, vector in searches if vector is not None}
        parts = []
        by_index = False
        for number, op, vector in searches:
            path = ".".join(op.namespace_prefix)
            common = {
                "number": number,
                "columns": _COLUMNS,
                "limit": parameters.add(op.limit),
                "offset": parameters.add(op.offset),
            }
            conditions = _conditions(op, parameters, omit_expired=self.omit_expired)
            if vector is None:
                of_namespace = in_namespace("s", path, parameters)
                parts.append(_BY_TIME.format(**common, in_namespace=of_namespace, conditions=conditions))
                continue
            own = indexed(path) if bounded else ()
            by_index = by_index or bool(own)
            candidates = parameters.add(_candidates(op)) if bounded else "NULL"
            found = self._found(path, vectors[id(vector)], own, conditions, candidates, parameters)
            join = f"JOIN store s ON s.prefix = near.prefix AND s.key = near.key {conditions}" if conditions else ""
            parts.append(_BY_DISTANCE.format(**common, found=found, candidates=candidates, join=join))
        if vectors:
            parts.append(_OTHER_MODEL.format(number=OTHER_MODEL, model=parameters.add(self.model)))
        return Statement(" UNION ALL ".join(parts).encode(), parameters.values, by_index)

    def _found(
        self, path: str, vector: str, own: Sequence[str], conditions: str, candidates: str, parameters: Parameters
    ) -> str:
        # A condition on the row, not a join: rows come in the index's order, and the scan ends when enough passed.
        passes = _PASSES.format(conditions=conditions)
        parts = [
            _BY_THE_INDEX.format(
                vector=vector,
                dims=self.dims,
                total=BY_INDEX,
                prefix=parameters.add(prefix),
                passes=passes if conditions else "",
                candidates=candidates,
            )
            for prefix in own
        ]
        of_namespace = in_namespace("v", path, parameters, without=own)
        return " UNION ALL ".join([_EVERY_ONE.format(vector=vector, in_namespace=of_namespace), *parts])


def is_complete(op: SearchOp, results: int, total: int) -> bool:
    """Tell whether a bounded search has found what there is: enough, or all that was there was looked at.

    Args:
        op: The search.
        results: How many it has.
        total: What its rows say.
    """
    return results == op.limit or total <= _candidates(op)


def check_filter(conditions: dict[str, Any] | None) -> None:
    """Refuse a filter that has no meaning.

    Raises:
        TypeError: If it compares with something that is no JSON.
        ValueError: If it has an unknown operator.
    """
    for name, expected in (conditions or {}).items():
        list(_matches([name], expected, Parameters()))


def in_namespace(table: str, path: str, parameters: Parameters, without: Sequence[str] = ()) -> str:
    """Return the condition that a row is of a namespace or of one below it.

    Args:
        table: The row's name in the statement.
        path: The namespace, its labels joined; empty for all there are.
        parameters: Takes the condition's values.
        without: Namespaces that are left out.
    """
    left_out = [prefix for prefix in without if prefix != path]
    others = f" AND {table}.prefix <> ALL({parameters.add(left_out)}::text[])" if left_out else ""
    if not path:
        return f"(TRUE{others})"
    # '/' follows '.': the range holds what begins with `path.`. Unlike LIKE it needs no escapes, and the operators
    # (byte order) match the index on text_pattern_ops in any collation.
    first, end = parameters.add(path + "."), parameters.add(path + "/")
    below = f"({table}.prefix ~>=~ {first} AND {table}.prefix ~<~ {end}{others})"
    return below if path in without else f"({table}.prefix = {parameters.add(path)} OR {below})"


def _candidates(op: SearchOp) -> int:
    return _CANDIDATES * (op.limit + op.offset)


def _conditions(op: SearchOp, parameters: Parameters, *, omit_expired: bool) -> str:
    conditions = ["(s.expires_at IS NULL OR s.expires_at > now())"] if omit_expired else []
    for name, expected in (op.filter or {}).items():
        conditions.extend(_matches([name], expected, parameters))
    return "".join(f" AND {condition}" for condition in conditions)


def _matches(path: list[str], expected: Any, parameters: Parameters) -> Iterator[str]:
    """Yield the conditions of a filter, with the meaning that `InMemoryStore` gives it.

    An order (`$gt` and its like) holds only between values of one JSON type: numbers as numbers, text as text.
    """
    if isinstance(expected, dict) and not any(name.startswith("$") for name in expected):
        for name, part in expected.items():
            yield from _matches([*path, name], part, parameters)
        return
    # A missing field equals null, as `dict.get` has it.
    actual = f"COALESCE(s.value #> {parameters.add(storable(path))}::text[], 'null'::jsonb)"
    for operator, operand in (expected if isinstance(expected, dict) else {"$eq": expected}).items():
        value = f"{parameters.add(json.dumps(storable(operand), allow_nan=False))}::jsonb"
        if operator == "$eq":
            yield f"{actual} = {value}"
        elif operator == "$ne":
            yield f"{actual} <> {value}"
        elif operator in _OPERATORS:
            yield f"(jsonb_typeof({actual}) = jsonb_typeof({value}) AND {actual} {_OPERATORS[operator]} {value})"
        else:
            known = ", ".join(["$eq", "$ne", *_OPERATORS])
            raise ValueError(f"A filter has no operator {operator!r}; it has {known}.")
