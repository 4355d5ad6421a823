"""`GET /memory/v1/events`: changes of a user's memory, as server-sent events.

Each stream reads the owner's revision, one row, every few seconds. It ends with the client, and by itself after some
minutes: a browser connects again, and authenticates anew.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException
from fastapi.responses import StreamingResponse

from react_mem.graphs.memory_api.callers_memory import PREFIX, Asked, CallersMemory, MemoryRoute, problems
from react_mem.memory.turns import cause_of

MOST_STREAMS = 5
"""Maximum number of a user's streams in this process."""

LOOK_SECONDS = 2.0
"""Seconds between two reads of the revision."""

COMMENT_SECONDS = 15.0
"""Seconds without an event until a comment is sent: a proxy closes a silent stream, and a gone client is noticed."""

STREAM_SECONDS = 600.0

_EXAMPLE = 'id: 660fa214f4774\nevent: revision\ndata: {"revision": "660fa214f4774"}\n\n'

router = APIRouter(tags=["Memory"], route_class=MemoryRoute)

log = logging.getLogger(__name__)

open_streams: Counter[str] = Counter()
"""Open streams by owner."""


@router.get(
    f"{PREFIX}/events",
    operation_id="follow_memory",
    summary="Follow changes",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {"example": _EXAMPLE}},
            "description": "`revision` events; comment lines in between.",
        },
        **problems(429),
    },
)
async def follow_memory(
    asked: Asked,
    last_event_id: Annotated[
        str,
        Header(alias="Last-Event-ID", max_length=400, description="The id of the last event that is known."),
    ] = "",
) -> StreamingResponse:
    """Send the revision of the user's memory now and whenever it has changed, until the client goes.

    The stream ends after ten minutes, and so does who was authenticated for it: connect again, as `EventSource` does.
    With the id of the last event, an event comes at once only where memory has changed since.
    """
    if open_streams[asked.owner] >= MOST_STREAMS:
        raise HTTPException(429, f"there are {MOST_STREAMS} streams of this user already; close one")
    revision = await asked.memory.revision(asked.owner)
    return StreamingResponse(
        _events(asked, revision, last_event_id), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )


async def _events(asked: CallersMemory, revision: str, known: str) -> AsyncIterator[str]:
    if open_streams[asked.owner] >= MOST_STREAMS:
        # of many that were asked for at once
        yield ": too many streams\n\n"
        return
    open_streams[asked.owner] += 1
    try:
        yield "retry: 3000\n" + ("\n" if revision == known else _event(revision))
        began = sent = time.monotonic()
        while (at := time.monotonic()) - began < STREAM_SECONDS:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                latest = await asked.memory.revision(asked.owner)
            except Exception as error:
                # the client connects again, and is told by that whether the database is back
                log.warning("a stream of changes ends: the revision cannot be read: %s", cause_of(error))
                return
            if latest != revision:
                revision, sent = latest, at
                yield _event(revision)
            elif at - sent >= COMMENT_SECONDS:
                sent = at
                yield ": still here\n\n"
    finally:
        open_streams[asked.owner] -= 1
        if open_streams[asked.owner] <= 0:
            del open_streams[asked.owner]


def _event(revision: str) -> str:
    return f"id: {revision}\nevent: revision\ndata: {json.dumps({'revision': revision})}\n\n"
