"""The SQL of searches over sealed items: the process says what is nearest, and the database what may pass a filter.

What the database cannot see - the rest of a filter, the keys of items in their order - is decided in the process, of
all that comes into question: so pages neither repeat nor miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph.store.base import SearchOp

from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store.sealing.sealed_filters import SplitFilter
from react_mem.memory.store.sealing.store_seal import Keys, both_keys
from react_mem.memory.store.searches import ITEM_COLUMNS, Nearest, Parameters, conditions_of, in_namespace

# with those that tie: among them the items' own keys decide, which the process knows
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


class SealedTarget(NamedTuple):
    """A search, and how it is carried out.

    Args:
        number: What its rows have as `search`.
        op: The search.
        split: Its filter.
        nearest: What is nearest, and how near; None to list by time.
    """

    number: int
    op: SearchOp
    split: SplitFilter
    nearest: Nearest | None = None

    def is_complete(self, found: Sequence[Any]) -> bool:
        """Return whether what passed is all there is, or enough."""
        return self.nearest is None or self.nearest.is_all or len(found) >= self.op.limit + self.op.offset


def sealed_statement(
    targets: Sequence[SealedTarget], keys: Keys, *, omit_expired: bool, is_walled: bool
) -> tuple[bytes, dict[str, Any]]:
    """Return one statement for all searches, and its parameters.

    Its rows, in no order, have `search`, `score` and the item's columns.

    Args:
        targets: The searches.
        keys: The keys of owners.
        omit_expired: Whether expired items are left out.
        is_walled: Whether it is sent behind a wall.
    """
    parameters = Parameters()
    parts = []
    for target in targets:
        op, split, path = target.op, target.split, ".".join(target.op.namespace_prefix)
        within = owner_within(path) if is_walled and target.nearest is None else None
        plain = op._replace(filter=split.plain)
        conditions = conditions_of(plain, parameters, omit_expired=omit_expired, within=within)
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
            for key in both_keys(keys, prefix, item)
        ]
        owners, prefixes, stored, scores = (parameters.add([row[place] for row in rows]) for place in range(4))
        owner = owner_within(path)
        # said of the items too, so that a cluster sees that all is on one node
        of_owner = "" if owner is None else f"AND s.owner = {parameters.add(owner)}"
        parts.append(
            _FOUND.format(**common, of_owner=of_owner, owners=owners, prefixes=prefixes, keys=stored, scores=scores)
        )
    return " UNION ALL ".join(parts).encode(), parameters.values
