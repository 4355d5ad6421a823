"""Searches over sealed items: this process finds the nearest, the database tests the readable fields of a filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.owner_texts import EVERY, OwnerTexts
from react_mem.memory.store.reading import Pool, Reader, Reads, Statement, nearest_items, rank_of, rows_of
from react_mem.memory.store.row_security import confined, has_row_security
from react_mem.memory.store.sealing.row_codec import both_keys
from react_mem.memory.store.sealing.sealed_entries import KEYED, PLAIN, has_skeleton
from react_mem.memory.store.searches import (
    ITEM_COLUMNS,
    Nearest,
    Parameters,
    Target,
    candidates,
    conditions_of,
    in_namespace,
    of_sessions,
)
from react_mem.memory.store.stored_text import storable

# including ties: the plain keys, which only this process knows, decide between them
_LISTED = """
    (SELECT {number} AS search, {columns}, NULL::float8 AS score FROM store s WHERE {in_namespace} {conditions}
     ORDER BY s.updated_at DESC {first})
"""
_FIRST = "FETCH FIRST ({first}) ROWS WITH TIES"
_FOUND = """
    (SELECT {number} AS search, {columns}, near.score
     FROM unnest({owners}::text[], {prefixes}::text[], {keys}::text[], {scores}::float8[])
        AS near (owner, prefix, key, score)
     JOIN store s ON s.owner = near.owner AND s.prefix = near.prefix AND s.key = near.key
     WHERE TRUE {of_owner} {conditions})
"""
_OWNERS = "SELECT DISTINCT v.owner FROM store_vectors v WHERE {in_namespace}"


@dataclass(frozen=True)
class SealedReader(Reader):
    """Reader of a database with sealed items."""

    async def owners_searched(self, pool: Pool, reads: Reads) -> set[str]:
        """Return the owners of all indexes in this process that a batch searches, also across owners."""
        owners = reads.owners
        for path in {".".join(op.namespace_prefix) for _, op in reads.searches if op.query}:
            if owner_within(path) is None:
                parameters = Parameters()
                statement = _OWNERS.format(in_namespace=in_namespace("v", path, parameters))
                async with pool.connection() as conn:
                    found = await (await conn.execute(statement.encode(), parameters.values)).fetchall()
                owners |= {row["owner"] for row in found}
        return owners

    async def targets(self, reads: Reads, known: Mapping[str, OwnerTexts]) -> list[Target]:
        """Return the plans of a batch's searches."""
        targets = [
            Target(number, op, reads.queries[op.query] if op.query else None)
            for number, (_, op) in enumerate(reads.searches)
        ]
        return [await self._nearest(target, known, candidates(target.op)) for target in targets]

    async def _nearest(self, target: Target, known: Mapping[str, OwnerTexts], count: int) -> Target:
        if target.vector is None:
            return target
        path = ".".join(target.op.namespace_prefix)
        owner = owner_within(path)
        found = [
            await nearest_items(texts, path, target.vector, count)
            for texts in known.values()
            if owner in (None, texts.owner)
        ]
        items = [item for of_owner in found for item in of_owner.items]
        return target._replace(nearest=Nearest(owner or "", items, all(of_owner.is_all for of_owner in found)))

    def _split(self, op: SearchOp) -> SplitFilter:
        path = ".".join(op.namespace_prefix)
        return SplitFilter.of(path, op.filter, self.keys.get(owner_within(path) or ""))

    def _searching(self, targets: Sequence[Target], is_confined: bool) -> list[Statement]:
        """Return one statement for all searches; its rows are unordered."""
        parameters = Parameters()
        parts = []
        for target in targets:
            op, split, path = target.op, self._split(target.op), ".".join(target.op.namespace_prefix)
            within = owner_within(path) if is_confined and target.nearest is None else None
            plain = op._replace(filter=split.plain)
            conditions = conditions_of(plain, parameters, omit_expired=self.omit_expired, within=within)
            common = {
                "number": target.number,
                "columns": ITEM_COLUMNS,
                "conditions": conditions + split.of_keyed(parameters, within),
            }
            if target.nearest is None:
                of_namespace = in_namespace("s", path, parameters)
                first = "" if split.rest else _FIRST.format(first=parameters.add(op.limit + op.offset))
                parts.append(_LISTED.format(**common, in_namespace=of_namespace, first=first))
                continue
            rows = [
                (owner_of_path(prefix), prefix, key, cosine)
                for prefix, item, cosine in target.nearest.items
                for key in both_keys(self.keys, prefix, item)
            ]
            owners, prefixes, stored, scores = (parameters.add([row[place] for row in rows]) for place in range(4))
            owner = owner_within(path)
            # repeated for the items, so that a cluster sees that all rows are on one node
            of_owner = "" if owner is None else f"AND s.owner = {parameters.add(owner)}"
            parts.append(
                _FOUND.format(**common, of_owner=of_owner, owners=owners, prefixes=prefixes, keys=stored, scores=scores)
            )
        return [(" UNION ALL ".join(parts).encode(), parameters.values)]

    async def _found(
        self,
        conn: AsyncConnection[DictRow],
        reads: Reads,
        targets: Sequence[Target],
        found: list[DictRow],
        known: Mapping[str, OwnerTexts],
    ) -> list[list[DictRow]]:
        """Return the opened rows of each search, ranked, after a second search for each that found too few."""
        if any(target.nearest is not None for target in targets) and any(
            each.model != self.model for each in known.values()
        ):
            await check_model(conn, self.model)
        rows = self._passing(targets, await self._opened(conn, found))
        again = [target for target in targets if not _is_complete(target, rows[target.number])]
        if again:
            wider = [await self._nearest(target, known, EVERY) for target in again]
            statements = self._searching(wider, has_row_security(conn) and not reads.crosses_owners)
            async with nullcontext() if reads.crosses_owners else confined(conn, reads.owners_read):
                cursor = await conn.execute(*statements[0])
            rows |= self._passing(wider, await self._opened(conn, await rows_of(cursor)))
        return [rows[target.number][target.op.offset :][: target.op.limit] for target in targets]

    def _passing(self, targets: Sequence[Target], rows: Sequence[DictRow]) -> dict[int, list[DictRow]]:
        """Return the rows of each search that pass its filter, ranked, each item once."""
        found: dict[int, list[DictRow]] = {}
        for target in targets:
            split = self._split(target.op)
            own: dict[tuple[str, str], DictRow] = {
                (row["prefix"], row["item"].key): row
                for row in rows
                if row["search"] == target.number and split.passes(row["item"].value)
            }
            found[target.number] = sorted(own.values(), key=rank_of)
        return found


def _is_complete(target: Target, found: Sequence[Any]) -> bool:
    """Return true if enough rows passed, or no more exist."""
    return target.nearest is None or target.nearest.is_all or len(found) >= target.op.limit + target.op.offset


# Filters in parts: the database tests the skeletons, this process the opened values.


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
    return all(_meets(value.get(name), expected) for name, expected in conditions.items())


def _meets(actual: Any, expected: Any) -> bool:
    if not isinstance(expected, Mapping):
        return _equals(actual, expected)
    if not any(str(name).startswith("$") for name in expected):
        inner = actual if isinstance(actual, Mapping) else {}
        return all(_meets(inner.get(name), part) for name, part in expected.items())
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
