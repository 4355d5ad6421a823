"""History of a thread's channels that are stored as what was written to them, read in one statement.

LangGraph reads it in two, the first of which takes in a thousand of the thread's checkpoints. This one goes from a
checkpoint to the one before, as far as a channel has no stored value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory, get_checkpoint_id, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.rows import DictRow

_SAME = "thread_id = %(thread)s AND checkpoint_ns = %(ns)s"

# Each table by its key, one row or one checkpoint at a time: joins of a thread's rows are planned from what threads
# have on average. A blob says more than what is inline, which is then a mark.
_HISTORY = f"""
    WITH RECURSIVE chain AS (
        SELECT wanted.channel, c.checkpoint_id AS target, c.checkpoint_id, c.parent_checkpoint_id AS parent, 0 AS place,
            NULL::text AS version, NULL::jsonb AS inline, FALSE AS has_blob
        FROM (
            SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
            WHERE {_SAME} AND (%(checkpoint)s::text IS NULL OR checkpoint_id = %(checkpoint)s)
            ORDER BY checkpoint_id DESC LIMIT 1
        ) c, unnest(%(channels)s::text[]) AS wanted (channel)
        UNION ALL
        SELECT after.channel, after.target, c.checkpoint_id, c.parent_checkpoint_id, after.place + 1,
            c.versions ->> after.channel, nullif(c.stored -> after.channel, 'null'),
            EXISTS (
                SELECT FROM checkpoint_blobs
                WHERE {_SAME} AND channel = after.channel AND version = c.versions ->> after.channel AND type <> 'empty'
            )
        FROM chain after, LATERAL (
            SELECT checkpoint_id, parent_checkpoint_id,
                checkpoint -> 'channel_versions' AS versions, checkpoint -> 'channel_values' AS stored
            FROM checkpoints WHERE {_SAME} AND checkpoint_id = after.parent LIMIT 1
        ) c
        WHERE NOT after.has_blob AND after.inline IS NULL
    )
    SELECT chain.target, chain.channel, chain.place, w.task_path, w.task_id, w.idx, w.type, w.blob,
        NULL::jsonb AS inline, FALSE AS is_seed
    FROM chain LEFT JOIN LATERAL (
        SELECT task_path, task_id, idx, type, blob FROM checkpoint_writes
        WHERE {_SAME} AND checkpoint_id = chain.checkpoint_id AND channel = chain.channel AND chain.place > 0 OFFSET 0
    ) w ON TRUE
    UNION ALL
    SELECT chain.target, chain.channel, chain.place, NULL, NULL, NULL, b.type, b.blob, chain.inline, TRUE
    FROM chain LEFT JOIN LATERAL (
        SELECT type, blob FROM checkpoint_blobs
        WHERE {_SAME} AND channel = chain.channel AND version = chain.version AND chain.has_blob LIMIT 1
    ) b ON TRUE
    WHERE chain.version IS NOT NULL AND (chain.has_blob OR chain.inline IS NOT NULL)
""".encode()  # noqa: S608 - of literals


def history_statement(config: RunnableConfig, channels: Sequence[str]) -> tuple[bytes, Mapping[str, Any]]:
    """Return a statement that finds the history of channels.

    Args:
        config: The checkpoint; where it names none, the latest of the thread.
        channels: The channels.
    """
    asked = config["configurable"]
    return _HISTORY, {
        "thread": asked["thread_id"],
        "ns": asked.get("checkpoint_ns", ""),
        "checkpoint": get_checkpoint_id(config) or None,
        "channels": list(channels),
    }


def histories(
    rows: Sequence[DictRow], channels: Sequence[str], serde: SerializerProtocol
) -> dict[str, DeltaChannelHistory]:
    """Return the histories that the rows of the statement hold.

    Args:
        rows: The rows.
        channels: The channels that were asked for.
        serde: What reads the values.
    """
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    for row in sorted(rows, key=_order):
        channel = row["channel"]
        if row["is_seed"] and row["blob"] is None:
            found[channel]["seed"] = row["inline"]
        elif row["blob"] is not None:
            value = serde.loads_typed((row["type"], row["blob"]))
            if row["is_seed"]:
                found[channel]["seed"] = value
            else:
                found[channel]["writes"].append((row["task_id"], channel, value))
    return found


def _order(row: DictRow) -> tuple[Any, ...]:
    # from the oldest checkpoint on
    return -row["place"], writes_sort_key(row["task_path"] or "", row["task_id"] or "", row["idx"] or 0)
