"""Records with what they are linked with, by an index of what a record names: the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, Protocol, runtime_checkable

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import Namespace

_MOST = 2_000
"""Records that one step of a read follows, the latest: what everything leads to says little about any of it."""

FIELDS = ("source_ids", "linked_steps", "depends_on", "needs", "superseded_by", "links", "alike")
"""The fields of a record that name others, as the function `memory_target_keys` of the database has them."""

_IN_LINE: LiteralString = (
    "s.prefix ~>=~ 'memory.' AND s.prefix ~<~ 'memory/' AND s.value ->> 'kind' IN ('message', 'episode') "
    "AND memory_line(s.prefix, s.value) = memory_line(seed.prefix, seed.value)"
)
"""The conditions of the partial index, as they stand there."""

_BY_MESSAGES: LiteralString = (
    "(split_part(prefix, '.', 3) IN ('experience', 'state', 'episodic') OR value ->> 'kind' IN ('fact', 'concept'))"
)
"""Kinds that are linked with what else came up in their messages."""

_SLIM: LiteralString = (
    "jsonb_build_object("
    + ", ".join(f"'{name}', value -> '{name}'" for name in ("id", "kind", "level", "session_id", "turn", "created_at"))
    + ", "
    + ", ".join(f"'{name}', value -> '{name}'" for name in FIELDS)
    + ")"
)
"""Fields from which links are derived."""

_BY_KEY: LiteralString = (
    "(SELECT one.prefix, one.key, one.value FROM store one WHERE one.prefix = space AND one.key = id LIMIT 1) s"
)
"""One record at a time: where statistics are missing, a join reads all of an owner's."""

# What names a record is found by that alone, so that no other index is taken for it.
_LINKED: LiteralString = f"""
    WITH seed AS MATERIALIZED (
        SELECT s.prefix, s.key, s.value FROM unnest(%(spaces)s::text[]) space CROSS JOIN unnest(%(ids)s::text[]) id
        CROSS JOIN LATERAL {_BY_KEY}
    ), named AS MATERIALIZED (
        SELECT s.prefix, s.key, s.value FROM unnest(%(spaces)s::text[]) space CROSS JOIN (
            SELECT split_part(coalesce(target ->> 'to', target #>> '{{}}'), ':', 1)
            FROM seed, unnest(%(fields)s::text[]) field, jsonb_path_query(value -> field, '$[*]') target
            WHERE field <> 'alike'
            UNION SELECT other FROM seed, jsonb_object_keys(value -> 'alike') other
        ) wanted (id) CROSS JOIN LATERAL {_BY_KEY}
        LIMIT %(most)s
    ), naming AS (
        SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
            SELECT hashtextextended(concat(%(owner)s::text, '/', key), 0) FROM seed
        )
        ORDER BY s.created_at DESC LIMIT %(most)s
    ), beside AS MATERIALIZED (
        SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
            SELECT unnest(memory_target_keys(prefix, value)) FROM seed WHERE {_BY_MESSAGES}
            UNION SELECT unnest(memory_target_keys(prefix, value)) FROM named WHERE value ->> 'kind' = 'fact'
        ) AND {_BY_MESSAGES}
        ORDER BY s.created_at DESC LIMIT %(most)s
    ), concepts AS (
        SELECT s.prefix, s.key, s.value FROM store s WHERE memory_target_keys(s.prefix, s.value) && ARRAY(
            SELECT hashtextextended(concat(%(owner)s::text, '/', key), 0) FROM beside
            WHERE value ->> 'kind' = 'fact' AND EXISTS (SELECT FROM seed WHERE {_BY_MESSAGES})
        ) AND s.value ->> 'kind' = 'concept'
        ORDER BY s.created_at DESC LIMIT %(most)s
    ), line AS (
        SELECT next.prefix, next.key, next.value FROM seed CROSS JOIN LATERAL (
            (SELECT s.prefix, s.key, s.value FROM store s
             WHERE {_IN_LINE} AND (memory_place(s.value), s.key) < (memory_place(seed.value), seed.key)
             ORDER BY memory_place(s.value) DESC, s.key DESC LIMIT 1)
            UNION ALL
            (SELECT s.prefix, s.key, s.value FROM store s
             WHERE {_IN_LINE} AND (memory_place(s.value), s.key) > (memory_place(seed.value), seed.key)
             ORDER BY memory_place(s.value), s.key LIMIT 1)
        ) next WHERE seed.value ->> 'kind' IN ('message', 'episode')
    )
    SELECT prefix, {_SLIM} AS value FROM (SELECT DISTINCT ON (prefix, key) prefix, value FROM (
        TABLE seed UNION ALL TABLE named UNION ALL TABLE naming
        UNION ALL TABLE beside UNION ALL TABLE concepts UNION ALL TABLE line
    ) found) once
    WHERE prefix = ANY(%(spaces)s)
"""  # noqa: S608 - of literals


@runtime_checkable
class LinkedStore(Protocol):
    """A store that finds what records are linked with without reading all of an owner's."""

    async def alinked(
        self, namespaces: Sequence[Namespace], ids: Sequence[str]
    ) -> list[tuple[Namespace, dict[str, Any]]]:
        """Return some records with all that their links are derived from, texts left out.

        Args:
            namespaces: Where an owner's records are.
            ids: The records.
        """


async def read_linked(
    conn: AsyncConnection[DictRow], namespaces: Sequence[Namespace], ids: Sequence[str]
) -> list[tuple[Namespace, dict[str, Any]]]:
    """Return some records with all that their links are derived from: see `LinkedStore`."""
    spaces = [".".join(namespace) for namespace in namespaces]
    asked = {"spaces": spaces, "ids": list(ids), "owner": namespaces[0][1], "fields": list(FIELDS), "most": _MOST}
    rows = await (await conn.execute(_LINKED, asked)).fetchall()
    return [(tuple(row["prefix"].split(".")), row["value"]) for row in rows]
