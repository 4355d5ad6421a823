"""`/memory/v1/profile`, `/pause`, `/pending`, `/hidden`, `/skills`, `/graph`, `/usage`, `/export`, `/events`."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import Header, HTTPException, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from react_mem.graphs.memory_api.callers_memory import (
    Asked,
    CallersMemory,
    administers,
    problems,
    rest_router,
    returned_by,
)
from react_mem.graphs.memory_api.forget_api import ForgetAnswer
from react_mem.memory import MemoryFacade
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import HiddenMemory, MemoryHealth, MemoryUsage, check_health, render_export
from react_mem.memory.turns import cause_of

MAX_NODES = 5_000

_FORMS = {
    "jsonl": ("application/jsonl", "memory.jsonl"),
    "html": ("text/html; charset=utf-8", "memory.html"),
    "markdown": ("text/markdown; charset=utf-8", "memory.md"),
}

router = rest_router()


class UsageAnswer(MemoryUsage):
    """Figures on what is remembered, and for an administrator on the memory of the server."""

    health: MemoryHealth | None = Field(None, description="For administrators only.")


class HiddenMemories(BaseModel):
    """Hidden memories, the oldest first."""

    items: list[HiddenMemory]


HiddenId = Annotated[
    str, Path(min_length=1, max_length=512, description="The id, as the list of what is hidden has it.")
]


@router.get("/profile", summary="Show the profile", response_model=returned_by(MemoryFacade.show_profile))
async def show_profile(asked: Asked) -> Any:
    """Show what is known about the user as a person, field by field, with the messages that say it."""
    return await asked.memory.show_profile(asked.owner)


class PauseBody(BaseModel):
    """Request to pause memory, or to go on."""

    paused: bool = Field(description="True to remember nothing of what they say from now on; what is known is used.")


class PauseAnswer(PauseBody):
    """The owner of a memory, and whether it is paused."""

    user: str = Field(description="The user whose memory this is, by the id under which it is kept.")


@router.get("/pause", summary="Tell whether memory is paused")
async def show_pause(asked: Asked) -> PauseAnswer:
    """Tell whose memory it is, and whether nothing more is remembered."""
    return PauseAnswer(paused=await asked.memory.paused(asked.owner), user=asked.owner)


@router.put("/pause", summary="Pause memory, or go on")
async def set_pause(body: PauseBody, asked: Asked) -> PauseAnswer:
    """Remember nothing of the user's turns from now on, or remember again; what is known is used all the same."""
    return PauseAnswer(paused=await asked.memory.pause(asked.owner, paused=body.paused), user=asked.owner)


@router.get("/pending", summary="List turns that wait", response_model=returned_by(MemoryFacade.list_waiting))
async def list_pending(asked: Asked) -> Any:
    """List the turns from which nothing has been drawn yet, and why."""
    return await asked.memory.list_waiting(asked.owner)


@router.get("/hidden", summary="List what is hidden")
async def list_hidden(asked: Asked) -> HiddenMemories:
    """List what conversations seem to have asked to forget: it is hidden, and erased after a day."""
    return HiddenMemories(items=await asked.memory.hidden(asked.owner))


@router.post("/hidden/{hidden_id}/undo", summary="Bring back what is hidden")
async def undo_hidden(hidden_id: HiddenId, asked: Asked) -> HiddenMemory:
    """Bring back what is hidden; what has changed since keeps that."""
    return await asked.memory.undo(asked.owner, hidden_id)


@router.post(
    "/undo",
    operation_id="undo_last",
    summary="Take back the last write",
    response_model=returned_by(MemoryFacade.undo_last),
    responses=problems(423),
)
async def undo_last_write(asked: Asked) -> Any:
    """Take back what memory has drawn from what the user said last, whose conversation stays; repeated, from before."""
    return await asked.memory.undo_last(asked.owner)


@router.delete("/hidden/{hidden_id}", summary="Erase what is hidden", responses=problems(423))
async def erase_hidden(hidden_id: HiddenId, asked: Asked) -> ForgetAnswer:
    """Erase what is hidden for good, before its day is over."""
    return ForgetAnswer.of(await asked.memory.erase(asked.owner, hidden_id))


@router.get("/skills", summary="List skills", response_model=returned_by(MemoryFacade.list_skills))
async def list_skills(asked: Asked) -> Any:
    """List what agents have learnt from the user's tasks, what is used most first."""
    return await asked.memory.list_skills(asked.owner)


@router.get("/graph", summary="Show the graph", response_model=returned_by(MemoryFacade.show_graph))
async def show_graph(
    asked: Asked,
    kind: Annotated[
        list[Annotated[str, Field(max_length=100)]], Query(max_length=40, description="Kinds, such as `fact`.")
    ] = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=MAX_NODES, description="Memories at most: the newest.")] = 2_000,
) -> Any:
    """Show memories and how they are linked; of many the newest, which `cut` says."""
    return await asked.memory.show_graph(asked.owner, kinds=kind, limit=limit)


@router.get("/usage", summary="Show how much is remembered")
async def show_usage(asked: Asked, request: Request) -> UsageAnswer:
    """Show how much is remembered of the user; an administrator is shown besides how the memory of this server is."""
    counted = await asked.memory.usage(asked.owner)
    works = getattr(request.app.state, "worker", None) is not None
    health = await check_health(asked.memory.store, works=works) if administers(request) else None
    return UsageAnswer(**counted.model_dump(), health=health)


@router.get(
    "/export",
    summary="Export everything",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media, _ in _FORMS.values()},
            "description": "The file.",
        }
    },
)
async def export_memory(
    asked: Asked,
    form: Annotated[
        Literal["jsonl", "html", "markdown"],
        Query(alias="format", description="`jsonl` can be imported again; the others are to be read."),
    ] = "jsonl",
) -> StreamingResponse:
    """Export everything that is remembered of the user, as a file; it names no user."""
    media, name = _FORMS[form]
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        # what is in it was written by anybody: no browser is to show it as a page of this server
        "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        "x-content-type-options": "nosniff",
    }
    return StreamingResponse(_written(asked, form), media_type=media, headers=headers)


async def _written(asked: CallersMemory, form: Literal["jsonl", "html", "markdown"]) -> AsyncIterator[str]:
    # a stream is sent after its route has returned, and is a user's all the same
    with acting(AuditActor.USER, AuditReason.REQUEST):
        lines = asked.memory.export_user(asked.owner)
        if form == "jsonl":
            async for line in lines:
                yield f"{line}\n"
            return
        for line in await asyncio.to_thread(render_export, [line async for line in lines], form):
            yield line if form == "html" else f"{line}\n"


# `GET /memory/v1/events`: changes of a user's memory, as server-sent events.

MOST_STREAMS = 5
LOOK_SECONDS = 2.0  # between two reads of the revision
COMMENT_SECONDS = 15.0
"""Seconds without an event until a comment is sent: a proxy closes a silent stream, and a gone client is noticed."""

STREAM_SECONDS = 600.0
_EXAMPLE = 'id: 660fa214f4774\nevent: revision\ndata: {"revision": "660fa214f4774"}\n\n'

log = logging.getLogger(__name__)

open_streams: Counter[str] = Counter()


@router.get(
    "/events",
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
        str, Header(alias="Last-Event-ID", max_length=400, description="The id of the last event that is known.")
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
