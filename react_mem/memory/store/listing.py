"""Pages of an owner's records and conversations, latest first, from a store that lists itself or from any other."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import LiteralString, NamedTuple

from langgraph.store.base import BaseStore, Item
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.namespaces import Namespace, meta_namespace, owner_namespace, owner_of
from react_mem.memory.store.capabilities import WHOLE, capabilities, everything
from react_mem.memory.store.transactions import REVISION

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

    Facts with an end date are among the current and the others. A store that cannot tell origins ignores them.
    """

    namespaces: Sequence[Namespace]
    kinds: Sequence[str] | None = None
    without: Sequence[str] = ()
    current: bool | None = None
    session_id: str | None = None
    origins: Sequence[str] | None = None


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
