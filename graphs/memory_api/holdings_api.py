"""`/memory/v1/profile`, `/pending`, `/skills`, `/graph` and `/usage`: what else memory has of a user, and how much."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from react_mem.graphs.memory_api.callers_memory import PREFIX, Asked, MemoryRoute, administers, problems
from react_mem.memory.runtime import (
    MemoryHealth,
    MemoryUsage,
    OwnersProfile,
    ShownGraph,
    SkillList,
    WaitingTurns,
    check_health,
    count_usage,
    list_skills,
    list_waiting,
    show_graph,
    show_profile,
)

MAX_NODES = 5_000

router = APIRouter(tags=["Memory"], route_class=MemoryRoute)


class UsageAnswer(MemoryUsage):
    """Figures on what is remembered, and for an administrator on the memory of the server."""

    health: MemoryHealth | None = Field(None, description="For administrators only.")


@router.get(f"{PREFIX}/profile", operation_id="show_profile", summary="Show the profile", responses=problems())
async def profile(asked: Asked) -> OwnersProfile:
    """Show what is known about the user as a person, field by field, with the messages that say it."""
    return await show_profile(asked.memory.store, asked.owner)


@router.get(f"{PREFIX}/pending", operation_id="list_pending", summary="List turns that wait", responses=problems())
async def pending(asked: Asked) -> WaitingTurns:
    """List the turns from which nothing has been drawn yet, and why."""
    return await list_waiting(asked.memory.store, asked.owner)


@router.get(f"{PREFIX}/skills", operation_id="list_skills", summary="List skills", responses=problems())
async def skills(asked: Asked) -> SkillList:
    """List what agents have learnt from the user's tasks, what is used most first."""
    return await list_skills(asked.memory.store, asked.owner)


@router.get(f"{PREFIX}/graph", operation_id="show_graph", summary="Show the graph", responses=problems())
async def graph(
    asked: Asked,
    kind: Annotated[
        list[Annotated[str, Field(max_length=100)]], Query(max_length=40, description="Kinds, such as `fact`.")
    ] = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=MAX_NODES, description="Memories at most: the newest.")] = 2_000,
) -> ShownGraph:
    """Show memories and how they are linked; of many the newest, which `cut` says."""
    return await show_graph(asked.memory.store, asked.owner, kinds=kind, limit=limit)


@router.get(
    f"{PREFIX}/usage",
    operation_id="show_usage",
    summary="Show how much is remembered",
    responses=problems(),
)
async def usage(asked: Asked, request: Request) -> UsageAnswer:
    """Show how much is remembered of the user; an administrator is shown besides how the memory of this server is."""
    store = asked.memory.store
    counted = await count_usage(store, asked.owner)
    works = getattr(request.app.state, "worker", None) is not None
    health = await check_health(store, works=works) if administers(request) else None
    return UsageAnswer(**counted.model_dump(), health=health)
