"""SQL of a search: all searches of a batch in one statement, each exact within its owner.

The stock store orders all tenants' vectors by the HNSW index, takes the first few dozen and then drops those of other
tenants. Here the namespace comes first: its vectors are found by prefix and compared one by one. Only a namespace with
an index of its own (see `large_namespaces`) is searched through that index.

Vectors are compared in half precision, as stored. The number of candidates is bounded; the filter and the merge of the
pieces of one item reduce them. Where too few are left, the caller asks again without the bound.

Statements are built as text from literals and placeholders only: psycopg's composing takes a third of a small search.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langgraph.store.base import SearchOp

from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store.sealing.sealed_filter import SealedFilter
from react_mem.memory.store.serialisation import Binary
from react_mem.memory.store.stored_text import storable

_SPARE = 20
"""Candidates beyond twice the results wanted: an item has one for each piece of its text."""

_OPERATORS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

ITEM_COLUMNS = "s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at, s.ttl_minutes"
_TEXT = "v.owner, v.prefix, v.key, v.half <=> {vector}::vector::halfvec AS distance, v.ctid AS at"
_EVERY_ONE = f"""
    SELECT {_TEXT} FROM store_vectors v WHERE {{in_namespace}} AND v.half IS NOT NULL
"""  # noqa: S608 - of literals
# Among equals the place in the table decides: whatever the number of candidates, they are the first of one order, so
# that pages neither repeat nor miss.
_NEAREST = f"""
    (SELECT {_TEXT} FROM store_vectors v WHERE {{in_namespace}} {{passes}} AND v.half IS NOT NULL
     ORDER BY v.half <=> {{vector}}::vector::halfvec, v.ctid LIMIT {{candidates}})
"""  # noqa: S608 - of literals
# By nothing but the distance: the index knows no other order.
_NEAREST_BY_INDEX = f"""
    (SELECT {_TEXT} FROM store_vectors v WHERE v.owner = {{owner}} AND v.prefix = {{prefix}} {{passes}}
     ORDER BY v.half <=> {{vector}}::vector::halfvec LIMIT {{candidates}})
"""  # noqa: S608 - of literals
_PASSES = (
    "AND (SELECT TRUE {conditions} FROM store s WHERE s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key)"
)
_BY_DISTANCE = """
    (SELECT {number} AS search, {more} AS more, best.taken, (SELECT name FROM memory_embedding) AS model, {columns},
        1 - best.distance AS score
     FROM (
        SELECT near.owner, near.prefix, near.key, min(near.distance) AS distance, min(near.at) AS at,
            max(near.taken) AS taken
        FROM (SELECT found.*, count(*) OVER () AS taken FROM ({found}) found) near {join}
        GROUP BY near.owner, near.prefix, near.key ORDER BY distance, at LIMIT {limit} OFFSET {offset}
     ) best JOIN store s ON s.owner = best.owner AND s.prefix = best.prefix AND s.key = best.key{of_owner})
"""
# The index in this process says which are nearest, and how near, as the database would; their values are read here.
_BY_KEY = """
    (SELECT {number} AS search, FALSE AS more, 0::bigint AS taken, NULL::text AS model, {columns},
        near.cosine AS score
     FROM unnest({owners}::text[], {prefixes}::text[], {keys}::text[], {cosines}::float8[]) WITH ORDINALITY
        AS near (owner, prefix, key, cosine, rank)
        JOIN store s ON s.owner = near.owner AND s.prefix = near.prefix AND s.key = near.key{of_owner} {conditions}
     {page})
"""
_ITEM = "JOIN store s ON s.owner = near.owner AND s.prefix = near.prefix AND s.key = near.key"
_MORE = "EXISTS (SELECT 1 FROM store_vectors v WHERE {in_namespace} OFFSET {limit})"
_BY_TIME = """
    (SELECT {number} AS search, FALSE AS more, 0::bigint AS taken, NULL::text AS model, {columns}, NULL::float8 AS score
     FROM store s WHERE {in_namespace} {conditions} {page})
"""


@dataclass
class Parameters:
    """Statement parameters by name."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        """Add a value and return its placeholder."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


class Nearest(NamedTuple):
    """Nearest items to a query, the nearest first: prefix and key of the rows of each, and its cosine.

    The owner is empty for several. `is_all` is true if no other items exist.
    """

    owner: str
    items: Sequence[tuple[str, str, float]]
    is_all: bool

    def first(self, count: int) -> Nearest:
        """Return the first `count` items alone."""
        return self if count >= len(self.items) else self._replace(items=self.items[:count], is_all=False)


class Target(NamedTuple):
    """Search with its plan.

    Args:
        number: The value of `search` in its rows.
        op: The search, with the conditions that the database tests.
        vector: The query's; None to list by time.
        sealed: Conditions beside those, where rows may be sealed. Then this process ranks the rows, as it alone knows
            the plain keys, by which the order of equals is decided.
        indexed: The namespaces within its scope that have an index of their own.
        measured: Whether its rows should say if there are more vectors than the limit of the exact scan.
        nearest: The nearest items by the cached index; None without one.
    """

    number: int
    op: SearchOp
    vector: Binary | None
    sealed: SealedFilter | None = None
    indexed: Sequence[str] = ()
    measured: bool = False
    nearest: Nearest | None = None

    @property
    def path(self) -> str:
        """The namespace, its labels joined by dots."""
        return ".".join(self.op.namespace_prefix)

    def is_complete(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return true if a bounded search has found enough, or has looked at everything."""
        wanted = self.op.limit + (self.op.offset if self.sealed is not None else 0)
        if self.vector is None or len(rows) >= wanted:
            return True
        if self.nearest is not None:
            return self.nearest.is_all
        if rows:
            return not self.indexed and rows[0]["taken"] < candidates(self.op)
        return not self.op.filter and not self.op.offset


def search_statement(
    targets: Sequence[Target], limit: int, *, bounded: bool, omit_expired: bool, is_confined: bool = False
) -> tuple[bytes, dict[str, Any]]:
    """Return one statement for all searches, and its parameters.

    Its rows, in no order, have `search`, `more` and `taken` (see `Target`), `model` (the model of the vectors),
    `score` and the item's columns. Up to `limit` vectors of a namespace all are compared. `bounded` takes only the
    nearest candidates (see `Target.is_complete`).
    """
    parameters = Parameters()
    vectors = {id(target.vector): parameters.add(target.vector) for target in targets if target.vector is not None}
    parts = []
    for target in targets:
        op, path = target.op, target.path
        owner = owner_within(path)
        within = owner if is_confined and target.vector is None else None
        conditions = _conditions(target, parameters, omit_expired=omit_expired, within=within)
        common = {"number": target.number, "columns": ITEM_COLUMNS}
        if target.vector is None:
            of_namespace = in_namespace("s", path, parameters)
            page = _page(target, parameters, "s.updated_at DESC, s.prefix, s.key")
            parts.append(_BY_TIME.format(**common, in_namespace=of_namespace, conditions=conditions, page=page))
            continue
        # said of each table, so that a cluster sees that all is on one node
        of_owner = "" if owner is None else f" AND s.owner = {parameters.add(owner)}"
        if target.nearest is not None and (bounded or target.sealed is not None):
            items = target.nearest.items
            near = {
                "owners": parameters.add([owner_of_path(prefix) for prefix, _, _ in items]),
                "prefixes": parameters.add([prefix for prefix, _, _ in items]),
                "keys": parameters.add([key for _, key, _ in items]),
                "cosines": parameters.add([cosine for _, _, cosine in items]),
            }
            page = _page(target, parameters, "near.rank")
            parts.append(_BY_KEY.format(**common, **near, of_owner=of_owner, conditions=conditions, page=page))
            continue
        vector, of_namespace = vectors[id(target.vector)], in_namespace("v", path, parameters)
        found = _EVERY_ONE.format(vector=vector, in_namespace=of_namespace)
        if bounded:
            found = _nearest(target, path, vector, conditions, parameters)
        more = _MORE.format(in_namespace=of_namespace, limit=parameters.add(limit)) if target.measured else "FALSE"
        own = {
            "of_owner": of_owner,
            "join": _ITEM + of_owner + conditions if conditions else "",
            "more": more,
            "limit": parameters.add(op.limit),
            "offset": parameters.add(op.offset),
        }
        parts.append(_BY_DISTANCE.format(**common, **own, found=found))
    return " UNION ALL ".join(parts).encode(), parameters.values


def _page(target: Target, parameters: Parameters, order: str) -> str:
    op = target.op
    if target.sealed is None:
        return f"ORDER BY {order} LIMIT {parameters.add(op.limit)} OFFSET {parameters.add(op.offset)}"
    if target.vector is not None or target.sealed.rest:
        return ""
    return f"ORDER BY s.updated_at DESC FETCH FIRST ({parameters.add(op.limit + op.offset)}) ROWS WITH TIES"


def _nearest(target: Target, path: str, vector: str, conditions: str, parameters: Parameters) -> str:
    most = parameters.add(candidates(target.op))
    if not target.indexed:
        of_namespace = in_namespace("v", path, parameters)
        return _NEAREST.format(passes="", vector=vector, candidates=most, in_namespace=of_namespace)
    # A condition on the row, not a join: rows come in the index's order, and the scan ends when enough passed.
    common = {
        "vector": vector,
        "candidates": most,
        "passes": _PASSES.format(conditions=conditions) if conditions else "",
    }
    others = in_namespace("v", path, parameters, without=target.indexed)
    parts = [
        _NEAREST_BY_INDEX.format(**common, owner=parameters.add(owner_of_path(prefix)), prefix=parameters.add(prefix))
        for prefix in target.indexed
    ]
    return " UNION ALL ".join([*parts, _NEAREST.format(**common, in_namespace=others)])


def check_filter(conditions: dict[str, Any] | None) -> None:
    """Refuse a filter: TypeError for a value that is not JSON, ValueError for an unknown operator."""
    for name, expected in (conditions or {}).items():
        list(_matches([name], expected, Parameters()))


def in_namespace(table: str, path: str, parameters: Parameters, without: Sequence[str] = ()) -> str:
    """Return the condition that a row of `table` is in a namespace (empty for all) or in one below it.

    `without` are namespaces that are left out.
    """
    left_out = [prefix for prefix in without if prefix != path]
    others = f" AND {table}.prefix <> ALL({parameters.add(left_out)}::text[])" if left_out else ""
    if not path:
        return f"(TRUE{others})"
    # '/' follows '.': the range holds what begins with `path.`. Unlike LIKE it needs no escapes, and the operators
    # (byte order) match the index on text_pattern_ops in any collation.
    first, end = parameters.add(path + "."), parameters.add(path + "/")
    below = f"({table}.prefix ~>=~ {first} AND {table}.prefix ~<~ {end}{others})"
    found = below if path in without else f"({table}.prefix = {parameters.add(path)} OR {below})"
    owner = owner_within(path)
    return found if owner is None else f"({table}.owner = {parameters.add(owner)} AND {found})"


def candidates(op: SearchOp) -> int:
    """Return the number of texts from which the results of a search are chosen."""
    return 2 * (op.limit + op.offset) + _SPARE


def _conditions(target: Target, parameters: Parameters, *, omit_expired: bool, within: str | None) -> str:
    """Return the conditions of a search on an item, each with a leading AND.

    `within` is the owner, where items are listed under row-level security; otherwise None.
    """
    conditions = ["(s.expires_at IS NULL OR s.expires_at > now())"] if omit_expired else []
    for name, expected in (target.op.filter or {}).items():
        conditions.extend(_matches([name], expected, parameters, within))
    for name, values in (target.sealed.keyed if target.sealed is not None else {}).items():
        # of a conversation in the words of its index (schema/0025_listed_fields.sql)
        conditions.append(f"s.value ->> '{name}' = ANY({parameters.add(values)}::text[])")
        if name == "session_id" and within is not None:
            conditions.append(_of_sessions(within, values, parameters))
    return "".join(f" AND {condition}" for condition in conditions)


def _of_sessions(owner: str, sessions: Sequence[str], parameters: Parameters) -> str:
    """Return the condition that the index of conversations has an item under one of the sessions, as items name them.

    Behind a row-security policy the index itself is not used: see `row_security`.
    """
    asked = f"{parameters.add(owner)}::text, {parameters.add(list(sessions))}::text[]"
    return f"s.ctid = ANY ((SELECT memory_sessions_within({asked}))::tid[])"


def _matches(path: list[str], expected: Any, parameters: Parameters, within: str | None = None) -> Iterator[str]:
    """Yield the conditions of a filter, with the meaning of LangGraph's `InMemoryStore`.

    An order (`$gt` and its like) holds only between values of one JSON type: numbers as numbers, text as text.
    """
    if isinstance(expected, dict) and not any(name.startswith("$") for name in expected):
        for name, part in expected.items():
            yield from _matches([*path, name], part, parameters, within)
        return
    # A missing field equals null, as `dict.get` has it. Worded as the index of work is (schema/0018_work_due.sql).
    actual = f"COALESCE(s.value #> {parameters.add(storable(path))}::text[], 'null'::jsonb)"
    for operator, operand in (expected if isinstance(expected, dict) else {"$eq": expected}).items():
        value = f"{parameters.add(json.dumps(storable(operand), allow_nan=False))}::jsonb"
        if operator == "$eq":
            yield f"{actual} = {value}"
            yield from _by_index(path, operand, parameters, within)
        elif operator == "$ne":
            yield f"{actual} <> {value}"
        elif operator in _OPERATORS:
            yield f"(jsonb_typeof({actual}) = jsonb_typeof({value}) AND {actual} {_OPERATORS[operator]} {value})"
        else:
            known = ", ".join(["$eq", "$ne", *_OPERATORS])
            raise ValueError(f"A filter has no operator {operator!r}; it has {known}.")


def _by_index(path: Sequence[str], operand: Any, parameters: Parameters, within: str | None) -> Iterator[str]:
    """Yield an equality in the wording of an index of items (see `schema/0025_listed_fields.sql`)."""
    if path == ["session_id"] and isinstance(operand, str):
        yield f"s.value ->> 'session_id' = {parameters.add(storable(operand))}::text"
        if within is not None:
            yield _of_sessions(within, [storable(operand)], parameters)
    elif path == ["unread"] and operand is True:
        yield "s.value -> 'unread' = 'true'::jsonb"
