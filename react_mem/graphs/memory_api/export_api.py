"""`GET /memory/v1/export`: everything that is remembered of a user, to take along."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from react_mem.graphs.memory_api.callers_memory import PREFIX, Asked, CallersMemory, MemoryRoute, problems
from react_mem.memory.runtime import AuditActor, AuditReason, acting, markdown_export, readable_export

router = APIRouter(tags=["Memory"], route_class=MemoryRoute)

_FORMS = {
    "jsonl": ("application/jsonl", "memory.jsonl"),
    "html": ("text/html; charset=utf-8", "memory.html"),
    "markdown": ("text/markdown; charset=utf-8", "memory.md"),
}


@router.get(
    f"{PREFIX}/export",
    operation_id="export_memory",
    summary="Export everything",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media, _ in _FORMS.values()},
            "description": "The file.",
        },
        **problems(),
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


async def _written(asked: CallersMemory, form: str) -> AsyncIterator[str]:
    # a stream is sent after its route has returned, and is a user's all the same
    with acting(AuditActor.USER, AuditReason.REQUEST):
        lines = [] if form == "jsonl" else [line async for line in asked.memory.export_user(asked.owner)]
        if form != "jsonl":
            yield await asyncio.to_thread(_readable, form, lines)
            return
        async for line in asked.memory.export_user(asked.owner):
            yield f"{line}\n"


def _readable(form: str, lines: Sequence[str]) -> str:
    return readable_export(lines) if form == "html" else "".join(f"{line}\n" for line in markdown_export(lines))
