"""The SQL of a search: all searches of a batch in one statement, each exact within its owner.

The stock store orders all tenants' vectors by the HNSW index, takes the first few dozen and then drops those of other
tenants. Here the namespace comes first: its vectors are found by prefix and compared one by one. Only a namespace with
more than `EXACT_SCAN_LIMIT` vectors is searched by the index, which then goes on (`hnsw.iterative_scan`) until enough
rows pass the filters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString

from langgraph.store.base import SearchOp
from psycopg.sql import SQL, Composed, Literal, Placeholder

from memory.storage.text import storable

EXACT_SCAN_LIMIT = 5_000
"""Vectors of a namespace up to which every one is compared. Measured with 384 dimensions on a busy machine of two
cores, a whole search: 2,000 vectors 5 ms, 5,000 9 ms, 10,000 40 to 70 ms; by the index, any number, 5 to 12 ms."""

_OPERATORS: dict[str, LiteralString] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

_COLUMNS = SQL("s.prefix, s.key, s.value, s.created_at, s.updated_at, s.ttl_minutes")
_BY_DISTANCE = SQL("""
    (SELECT {number} AS search, found.vectors, hit.*
     FROM (SELECT count(*) AS vectors FROM (SELECT FROM store_vectors v WHERE {in_namespace} LIMIT {cap}) capped) found
     LEFT JOIN LATERAL (
        SELECT {columns}, 1 - n.distance AS score, row_number() OVER (ORDER BY n.distance, n.prefix, n.key) AS place
        FROM (
            SELECT v.prefix, v.key, min(v.embedding <=> {vector}::vector) AS distance
            FROM store_vectors v {join}
            WHERE found.vectors <= {limit_exact} AND {in_namespace} {conditions}
            GROUP BY v.prefix, v.key ORDER BY distance, v.prefix, v.key LIMIT {limit} OFFSET {offset}
        ) n JOIN store s ON s.prefix = n.prefix AND s.key = n.key
     ) hit ON TRUE)
""")
_BY_TIME = SQL("""
    (SELECT {number} AS search, NULL::bigint AS vectors, {columns}, NULL::float8 AS score,
        row_number() OVER (ORDER BY s.updated_at DESC, s.prefix, s.key) AS place
     FROM store s WHERE {in_namespace} {conditions}
     ORDER BY s.updated_at DESC, s.prefix, s.key LIMIT {limit} OFFSET {offset})
""")
_BY_INDEX = SQL("""
    SELECT {columns}, 1 - n.distance AS score, row_number() OVER (ORDER BY n.distance, n.prefix, n.key) AS place
    FROM (
        SELECT nearest.prefix, nearest.key, min(nearest.distance) AS distance
        FROM (
            SELECT v.prefix, v.key, v.embedding <=> {vector}::vector AS distance FROM store_vectors v
            WHERE {in_namespace} {conditions} ORDER BY v.embedding <=> {vector}::vector LIMIT {vectors}
        ) nearest
        GROUP BY nearest.prefix, nearest.key ORDER BY distance, nearest.prefix, nearest.key
        LIMIT {limit} OFFSET {offset}
    ) n JOIN store s ON s.prefix = n.prefix AND s.key = n.key
""")


@dataclass
class _Parameters:
    """Parameters by name; the same value is sent once."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> Placeholder:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return Placeholder(name)


Statement = tuple[Composed, dict[str, Any]]


def search_statement(
    searches: Sequence[tuple[SearchOp, str | None]], *, omit_expired: bool, exact_limit: int | None
) -> Statement:
    """Return one statement for all searches.

    Its rows have `search` (the position), `place` (the rank), `vectors` and the item's columns. A namespace with more
    than `exact_limit` vectors is not searched: its one row has no item, and `vectors` above the limit.

    Args:
        searches: What to search, each with its query's vector as a literal, or None to list by time.
        omit_expired: Whether expired items are left out.
        exact_limit: How many vectors to compare at most; None compares all.
    """
    parameters = _Parameters()
    vectors = {literal: parameters.add(literal) for _, literal in searches if literal is not None}
    parts = []
    for number, (op, literal) in enumerate(searches):
        common = {
            "number": Literal(number),
            "columns": _COLUMNS,
            "limit": parameters.add(op.limit),
            "offset": parameters.add(op.offset),
        }
        conditions = _conditions(op, parameters, omit_expired=omit_expired)
        if literal is None:
            in_namespace = _in_namespace("s", op.namespace_prefix, parameters)
            parts.append(_BY_TIME.format(**common, in_namespace=in_namespace, conditions=_all(conditions)))
            continue
        # Both tables by the namespace: joined by key alone, all tenants' items would be read.
        join = SQL("JOIN store s ON s.prefix = v.prefix AND s.key = v.key AND {}").format(
            _in_namespace("s", op.namespace_prefix, parameters)
        )
        parts.append(
            _BY_DISTANCE.format(
                **common,
                in_namespace=_in_namespace("v", op.namespace_prefix, parameters),
                conditions=_all(conditions),
                join=join if conditions else SQL(""),
                vector=vectors[literal],
                cap=Literal(None if exact_limit is None else exact_limit + 1),
                limit_exact=Literal(exact_limit if exact_limit is not None else 2**62),
            )
        )
    return SQL(" UNION ALL ").join(parts), parameters.values


def index_search_statement(op: SearchOp, literal: str, *, omit_expired: bool) -> Statement:
    """Return the statement that searches a large namespace by the index; it may find fewer rows than exist."""
    parameters = _Parameters()
    conditions = _conditions(op, parameters, omit_expired=omit_expired)
    # A condition on the row, not a join: rows come in the index's order, and the scan ends when enough passed.
    passes = SQL("AND (SELECT TRUE {} FROM store s WHERE s.prefix = v.prefix AND s.key = v.key)").format(
        _all(conditions)
    )
    statement = _BY_INDEX.format(
        columns=_COLUMNS,
        vector=parameters.add(literal),
        in_namespace=_in_namespace("v", op.namespace_prefix, parameters),
        conditions=passes if conditions else SQL(""),
        # An item may have several vectors; with too few distinct items the caller searches exactly.
        vectors=parameters.add(2 * (op.limit + op.offset)),
        limit=parameters.add(op.limit),
        offset=parameters.add(op.offset),
    )
    return statement, parameters.values


def check_filter(conditions: dict[str, Any] | None) -> None:
    """Refuse a filter that has no meaning.

    Raises:
        TypeError: If it compares with something that is no JSON.
        ValueError: If it has an unknown operator.
    """
    for name, expected in (conditions or {}).items():
        list(_matches([name], expected, _Parameters()))


def _in_namespace(table: LiteralString, namespace: tuple[str, ...], parameters: _Parameters) -> Composed:
    if not namespace:
        return Composed([SQL("TRUE")])
    path = ".".join(namespace)
    # '/' follows '.': the range holds what begins with `path.`. Unlike LIKE it needs no escapes, and the operators
    # (byte order) match the index on text_pattern_ops in any collation.
    return SQL("({t}.prefix = {path} OR ({t}.prefix ~>=~ {first} AND {t}.prefix ~<~ {end}))").format(
        t=SQL(table),
        path=parameters.add(path),
        first=parameters.add(path + "."),
        end=parameters.add(path + "/"),
    )


def _all(conditions: list[Composed]) -> Composed:
    return SQL("").join(SQL(" AND {}").format(condition) for condition in conditions)


def _conditions(op: SearchOp, parameters: _Parameters, *, omit_expired: bool) -> list[Composed]:
    conditions = [Composed([SQL("(s.expires_at IS NULL OR s.expires_at > now())")])] if omit_expired else []
    for name, expected in (op.filter or {}).items():
        conditions.extend(_matches([name], expected, parameters))
    return conditions


def _matches(path: list[str], expected: Any, parameters: _Parameters) -> Iterator[Composed]:
    """Yield the conditions of a filter, with the meaning that `InMemoryStore` gives it.

    An order (`$gt` and its like) holds only between values of one JSON type: numbers as numbers, text as text.
    """
    if isinstance(expected, dict) and not any(name.startswith("$") for name in expected):
        for name, part in expected.items():
            yield from _matches([*path, name], part, parameters)
        return
    # A missing field equals null, as `dict.get` has it.
    actual = SQL("COALESCE(s.value #> {}::text[], 'null'::jsonb)").format(parameters.add(storable(path)))
    for operator, operand in (expected if isinstance(expected, dict) else {"$eq": expected}).items():
        value = parameters.add(json.dumps(storable(operand), allow_nan=False))
        if operator == "$eq":
            yield SQL("{} = {}::jsonb").format(actual, value)
        elif operator == "$ne":
            yield SQL("{} <> {}::jsonb").format(actual, value)
        elif operator in _OPERATORS:
            yield SQL("(jsonb_typeof({a}) = jsonb_typeof({v}::jsonb) AND {a} {o} {v}::jsonb)").format(
                a=actual, o=SQL(_OPERATORS[operator]), v=value
            )
        else:
            known = ", ".join(["$eq", "$ne", *_OPERATORS])
            raise ValueError(f"A filter has no operator {operator!r}; it has {known}.")
