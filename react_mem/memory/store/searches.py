"""SQL of searches and of listing: all searches of a batch in one statement, each exact within its owner.

The stock store orders all tenants' vectors by the HNSW index, takes the first few dozen and then drops those of other
tenants. Here the namespace comes first: its nearest items are found in the index of this process, or by the database if
the namespace is not in it. Their values, filtered, are read by key. The number of candidates is bounded; where the
filter and the merge of the pieces of one item leave too few, the caller asks again for more.

Statements are built as text from literals and placeholders only: psycopg's composing takes a third of a small search.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, LiteralString, NamedTuple

from langgraph.store.base import BaseStore, Item, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.namespaces import (
    Namespace,
    meta_namespace,
    owner_namespace,
    owner_of,
    owner_of_path,
    owner_within,
)
from react_mem.memory.store.capabilities import WHOLE, capabilities, everything
from react_mem.memory.store.owner_texts import OwnerTexts
from react_mem.memory.store.row_codec import SealedFilter
from react_mem.memory.store.stored_text import Binary, storable
from react_mem.memory.store.transactions import REVISION

_SPARE = 20
"""Candidates beyond twice the results wanted: an item has one for each piece of its text."""

_OPERATORS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

ITEM_COLUMNS = "s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at, s.ttl_minutes"
# Among equals the key decides, as in this process, so that pages neither repeat nor miss.
_NEAREST = """
    (SELECT v.prefix, v.key, 1 - (v.half <=> {vector}::vector::halfvec) AS cosine,
        (SELECT name FROM memory_embedding) AS model
     FROM store_vectors v WHERE {in_namespace} AND v.half IS NOT NULL
     ORDER BY v.half <=> {vector}::vector::halfvec, v.prefix COLLATE "C", v.key COLLATE "C" LIMIT {count})
"""
# By nothing but the distance: the index knows no other order.
_NEAREST_BY_INDEX = """
    (SELECT v.prefix, v.key, 1 - (v.half <=> {vector}::vector::halfvec) AS cosine,
        (SELECT name FROM memory_embedding) AS model
     FROM store_vectors v WHERE v.owner = {owner} AND v.prefix = {prefix}
     ORDER BY v.half <=> {vector}::vector::halfvec LIMIT {count})
"""
# The rank is not read: without it Citus gives a union of several such arrays columns of the wrong types.
_BY_KEY = """
    (SELECT {number} AS search, {columns}, near.cosine AS score
     FROM unnest({owners}::text[], {prefixes}::text[], {keys}::text[], {cosines}::float8[]) WITH ORDINALITY
        AS near (owner, prefix, key, cosine, rank)
        JOIN store s ON s.owner = near.owner AND s.prefix = near.prefix AND s.key = near.key{of_owner} {conditions})
"""
_BY_TIME = """
    (SELECT {number} AS search, {columns}, NULL::float8 AS score
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


class Target(NamedTuple):
    """Search with its plan.

    Args:
        number: The value of `search` in its rows.
        op: The search, with the conditions that the database tests.
        vector: The query's; None to list by time.
        sealed: Conditions beside those, where rows may be sealed. Then this process ranks the rows, as it alone knows
            the plain keys, by which the order of equals is decided.
        texts: The indexes of this process that hold everything in its scope; None if the database compares.
        items: The nearest items, the nearest first: prefix and key of the rows of each, and its cosine.
        is_all: True if there are no other items.
    """

    number: int
    op: SearchOp
    vector: Binary | None
    sealed: SealedFilter | None = None
    texts: Sequence[OwnerTexts] | None = None
    items: Sequence[tuple[str, str, float]] = ()
    is_all: bool = False

    @property
    def path(self) -> str:
        """The namespace, its labels joined by dots."""
        return ".".join(self.op.namespace_prefix)

    @property
    def is_ranked_here(self) -> bool:
        """True if its rows come unsorted, the first ones too."""
        return self.vector is not None or self.sealed is not None

    def is_complete(self, rows: Sequence[Any]) -> bool:
        """Return true if a bounded search has found enough, or has looked at everything."""
        return self.vector is None or self.is_all or len(rows) >= self.op.limit + self.op.offset


def nearest_statement(path: str, vector: Binary, count: int, indexed: Sequence[str]) -> tuple[bytes, dict[str, Any]]:
    """Return the statement for the `count` nearest texts at a path, with the path's indexed namespaces."""
    parameters = Parameters()
    common = {"vector": parameters.add(vector), "count": parameters.add(count)}
    parts = [
        _NEAREST_BY_INDEX.format(**common, owner=parameters.add(owner_of_path(prefix)), prefix=parameters.add(prefix))
        for prefix in indexed
    ]
    others = in_namespace("v", path, parameters, without=indexed)
    statement = " UNION ALL ".join([*parts, _NEAREST.format(**common, in_namespace=others)])
    return statement.encode(), parameters.values


def search_statement(
    targets: Sequence[Target], *, omit_expired: bool, is_confined: bool = False
) -> tuple[bytes, dict[str, Any]]:
    """Return one statement for all searches, and its parameters.

    Its rows, in no order, have `search` (see `Target`), `score` and the item's columns.
    """
    parameters = Parameters()
    parts = []
    for target in targets:
        owner = owner_within(target.path)
        within = owner if is_confined and target.vector is None else None
        conditions = _conditions(target, parameters, omit_expired=omit_expired, within=within)
        common = {"number": target.number, "columns": ITEM_COLUMNS, "conditions": conditions}
        if target.vector is None:
            of_namespace = in_namespace("s", target.path, parameters)
            parts.append(_BY_TIME.format(**common, in_namespace=of_namespace, page=_page(target, parameters)))
            continue
        near = {
            "owners": parameters.add([owner_of_path(prefix) for prefix, _, _ in target.items]),
            "prefixes": parameters.add([prefix for prefix, _, _ in target.items]),
            "keys": parameters.add([key for _, key, _ in target.items]),
            "cosines": parameters.add([cosine for _, _, cosine in target.items]),
            # said of each table, so that a cluster sees that all is on one node
            "of_owner": "" if owner is None else f" AND s.owner = {parameters.add(owner)}",
        }
        parts.append(_BY_KEY.format(**common, **near))
    return " UNION ALL ".join(parts).encode(), parameters.values


def _page(target: Target, parameters: Parameters) -> str:
    op = target.op
    if target.sealed is None:
        page = f"LIMIT {parameters.add(op.limit)} OFFSET {parameters.add(op.offset)}"
        return f"ORDER BY s.updated_at DESC, s.prefix, s.key {page}"
    if target.sealed.rest:
        return ""
    return f"ORDER BY s.updated_at DESC FETCH FIRST ({parameters.add(op.limit + op.offset)}) ROWS WITH TIES"


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
    """Return the number of texts from which the results of a search are chosen at first."""
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


# Pages of an owner's records and conversations, latest first, from a store that lists itself or from any other.

# Text in UTC is compared as it is: to read the dates of ten thousand records takes three times as long as all the rest.
# What has another zone is put into UTC, unless PostgreSQL knows no such zone. Without the letter of the zone, a time
# comes before those of the same second that have a fraction.
UTC_TEXT: LiteralString = """
    CASE WHEN right(s.value ->> 'created_at', 1) = 'Z' THEN left(s.value ->> 'created_at', -1)
        WHEN s.value ->> 'created_at'
            ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?[+-](0\\d|1[0-4]):[0-5]\\d$'
            THEN to_char((s.value ->> 'created_at')::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
        ELSE coalesce(s.value ->> 'created_at', '') END COLLATE "C"
"""
"""Creation time of a record `s` in UTC, as text."""


class ListPlace(NamedTuple):
    """Position of a record in a list: its creation time in UTC, its namespace with dots, and the key of its row."""

    at: str
    prefix: str
    key: str


@dataclass(frozen=True)
class Wanted:
    """Conditions on the records of a list, in namespaces of one owner; None for any.

    Facts with an end date are among the current and the others. A store that cannot tell origins ignores them. `since`
    and `before` bound the time of creation, as a `ListPlace` has it; empty for any.
    """

    namespaces: Sequence[Namespace]
    kinds: Sequence[str] | None = None
    without: Sequence[str] = ()
    current: bool | None = None
    session_id: str | None = None
    origins: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    since: str = ""
    before: str = ""


class Listed(NamedTuple):
    """Page of a list, with the number of records of the whole list, and true if others follow."""

    items: list[tuple[ListPlace, Item]]
    total: int
    more: bool


async def listed(store: BaseStore, user_id: str, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed:
    """Return the next of an owner's records behind a place (None for the first page), the latest first.

    A store that cannot list reads all of the owner's records for each page.
    """
    if (found := await capabilities(store).alisted(wanted, behind, limit)) is not None:
        return found
    items = await everything(store, user_id)
    return await asyncio.to_thread(_listed, items, wanted, behind, limit)


async def revision_of(store: BaseStore, user_id: str) -> str:
    """Return a token that changes with every write of an owner's memory, the same in all processes.

    On a store without revisions it comes from memory's own steps and from the last write.
    """
    if (known := await capabilities(store).arevision(owner_of(owner_namespace(user_id)))) is not None:
        return known
    done = await store.aget(meta_namespace(user_id), REVISION, refresh_ttl=False)
    # PostgreSQL answers with what was written last, LangGraph's InMemoryStore with what was written first
    room = WHOLE if isinstance(store, InMemoryStore) else 1
    latest = await store.asearch(owner_namespace(user_id), limit=room, refresh_ttl=False)
    told = repr((done.value if done is not None else None, [(item.key, item.updated_at) for item in latest]))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def latest_first(items: Iterable[Item]) -> list[Item]:
    """Return records in the order of the pages."""
    return sorted(items, key=place_of, reverse=True)


def place_of(item: Item) -> ListPlace:
    """Return the position of a record in a list, for a store that keeps each record under its own key."""
    return ListPlace(_in_utc(str(item.value.get("created_at") or "")), ".".join(item.namespace), item.key)


def _listed(items: Sequence[Item], wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed:
    meant = [(place_of(item), item) for item in items if _is_wanted(item, wanted)]
    meant.sort(key=lambda one: one[0], reverse=True)
    left = meant if behind is None else [one for one in meant if one[0] < behind]
    return Listed(left[:limit], len(meant), len(left) > limit)


def _is_wanted(item: Item, wanted: Wanted) -> bool:
    value = item.value
    kind = value.get("kind") or ""
    if item.namespace not in wanted.namespaces or kind in wanted.without:
        return False
    if wanted.kinds is not None and kind not in wanted.kinds:
        return False
    if wanted.session_id is not None and value.get("session_id") != wanted.session_id:
        return False
    if wanted.origins is not None and value.get("origin") not in wanted.origins:
        return False
    if wanted.ids is not None and item.key not in wanted.ids:
        return False
    at = place_of(item).at
    if at < wanted.since or (wanted.before and at >= wanted.before):
        return False
    current = value.get("current") is not False
    return wanted.current is None or current is wanted.current or (not wanted.current and bool(value.get("valid_to")))


def _in_utc(at: str) -> str:
    """Return a time in the form that the database compares."""
    if at.endswith("Z"):
        return at[:-1]
    try:
        told = datetime.fromisoformat(at)
    except ValueError:
        return at
    return at if told.tzinfo is None else told.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


# Pages of an owner's conversations, the most recent first, from a store that counts messages.

# Counted in one pass over what was said. What is half sealed has a conversation under two names: `mixed`. The topic
# of a conversation is looked for in its first messages, and in the summaries of its highest level that cover most.
CONVERSATIONS: LiteralString = f"""
    WITH said AS MATERIALIZED (
        SELECT coalesce(s.value ->> 'session_id', '') COLLATE "C" AS session, {UTC_TEXT} AS at,
            s.value ->> 'kind' = 'message' AS is_message, s.value ? %(seal)s AS is_sealed
        FROM store s
        WHERE s.owner = %(owner)s AND s.prefix = %(prefix)s AND s.value ->> 'kind' IN ('message', 'summary')
            AND (NOT %(omit_expired)s OR s.expires_at IS NULL OR s.expires_at > now())
    ), held AS MATERIALIZED (
        SELECT session, count(*) AS messages, min(at) AS first, max(at) AS last
        FROM said WHERE is_message GROUP BY session
    )
    SELECT counted.total, (SELECT count(DISTINCT is_sealed) > 1 FROM said) AS mixed, page.session, page.messages,
        page.first, page.last, s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at
    FROM (SELECT count(*) AS total FROM held) counted LEFT JOIN (
        SELECT * FROM held
        WHERE %(behind)s::text[] IS NULL OR (last, session) < ((%(behind)s::text[])[1], (%(behind)s::text[])[2])
        ORDER BY last DESC, session DESC LIMIT %(limit)s
    ) page ON TRUE LEFT JOIN LATERAL (
        (SELECT m.* FROM store m
            WHERE m.owner = %(owner)s AND m.prefix = %(prefix)s
                AND m.value ->> 'session_id' = page.session COLLATE "default" AND m.value ->> 'kind' = 'message'
                AND (NOT %(omit_expired)s OR m.expires_at IS NULL OR m.expires_at > now())
            ORDER BY memory_place(m.value), m.key LIMIT 3)
        UNION ALL
        (SELECT m.* FROM store m
            WHERE m.owner = %(owner)s AND m.prefix = %(prefix)s
                AND m.value ->> 'session_id' = page.session COLLATE "default" AND m.value ->> 'kind' = 'summary'
                AND (NOT %(omit_expired)s OR m.expires_at IS NULL OR m.expires_at > now())
            ORDER BY (m.value ->> 'level') COLLATE "C" DESC NULLS LAST, m.value ->> 'created_at' DESC
            LIMIT 3)
    ) s ON TRUE
    ORDER BY page.last DESC, page.session DESC
"""  # noqa: S608 - of literals


class ConversationPlace(NamedTuple):
    """Position of a conversation in a list: the time of its last message in UTC, as text, and its name in its rows.

    For encrypted rows that name is not its own.
    """

    last: str
    session: str


class PlacedConversation(NamedTuple):
    """Conversation of a list, with the number of its messages, the time of the first one, and some of its items.

    The items are its first messages, and summaries of it.
    """

    place: ConversationPlace
    messages: int
    first: str
    items: list[Item]


class ListedConversations(NamedTuple):
    """Page of a list of conversations, with the number of the whole list, and true if others follow."""

    conversations: list[PlacedConversation]
    total: int
    more: bool
