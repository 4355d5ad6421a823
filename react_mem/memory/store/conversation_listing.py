"""Pages of an owner's conversations, the most recent first, from a store that counts messages.

Only the first messages and the summaries of the conversations on a page are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString, NamedTuple

from langgraph.store.base import Item
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import Namespace, owner_of
from react_mem.memory.store.listing import UTC_TEXT
from react_mem.memory.store.row_security import confined
from react_mem.memory.store.sealing.sealed_entries import SEALED

_FIRST = 3
"""First messages of a conversation among which its topic is looked for."""

_SUMMARIES = 3
"""Summaries of the highest level of a conversation, among which the one that covers most is looked for."""

# Counted in one pass over what was said. What is half sealed has a conversation under two names: `mixed`.
_CONVERSATIONS: LiteralString = f"""
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
            ORDER BY memory_place(m.value), m.key LIMIT %(first)s)
        UNION ALL
        (SELECT m.* FROM store m
            WHERE m.owner = %(owner)s AND m.prefix = %(prefix)s
                AND m.value ->> 'session_id' = page.session COLLATE "default" AND m.value ->> 'kind' = 'summary'
                AND (NOT %(omit_expired)s OR m.expires_at IS NULL OR m.expires_at > now())
            ORDER BY (m.value ->> 'level') COLLATE "C" DESC NULLS LAST, m.value ->> 'created_at' DESC
            LIMIT %(summaries)s)
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


async def read_conversations(
    conn: AsyncConnection[DictRow],
    namespace: Namespace,
    behind: ConversationPlace | None,
    limit: int,
    *,
    omit_expired: bool,
) -> list[DictRow] | None:
    """Return the rows of a page and of one more conversation, values as text; None if only some rows are encrypted."""
    owner = owner_of(namespace)
    asked = {
        "owner": owner,
        "prefix": ".".join(namespace),
        "seal": SEALED,
        "omit_expired": omit_expired,
        "behind": None if behind is None else list(behind),
        "limit": limit + 1,
        "first": _FIRST,
        "summaries": _SUMMARIES,
    }
    async with confined(conn, [owner]):
        found = await conn.execute(_CONVERSATIONS, asked)
    rows = await found.fetchall()
    return None if rows[0]["mixed"] else rows


def conversations_of(rows: Sequence[DictRow], items: Sequence[Item], limit: int) -> ListedConversations:
    """Return a page from the rows of `read_conversations`, and the items of those rows that have one."""
    found: dict[ConversationPlace, PlacedConversation] = {}
    for row, item in zip((row for row in rows if row["key"] is not None), items, strict=True):
        place = ConversationPlace(row["last"], row["session"])
        new = PlacedConversation(place, row["messages"], row["first"], [])
        found.setdefault(place, new).items.append(item)
    return ListedConversations([*found.values()][:limit], rows[0]["total"], len(found) > limit)
