"""`POST /memory/v1/search`: what a question finds in memory, and what each way of searching had a part in."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, Field

from react_mem.graphs.memory_api.callers_memory import (
    PREFIX,
    USER_ID,
    MemoryRoute,
    agent_named,
    memory_of,
    problems,
)
from react_mem.graphs.memory_api.memories_api import DEFAULT_AGENT
from react_mem.memory import MemoryFacade, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.runtime import MemoryItem, OwnerId, kind_named, now, searched_scopes

MAX_QUERY = 4_000
MAX_FOUND = 50

SESSION = "search"
"""The conversation that a search counts as: none of the owner's."""

router = APIRouter(tags=["Memory"], route_class=MemoryRoute)


class SearchBody(BaseModel):
    """Question to memory."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)] = Field(description="What to look for, in words.")
    scopes: list[MemoryScope] = Field(
        default_factory=searched_scopes, max_length=20, description="Where; by default wherever meaning is indexed."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_FOUND)] = Field(10, description="Memories of each scope.")
    as_of: datetime | None = Field(None, description="What was believed at this time; without a zone, in UTC.")
    agent: Annotated[str, Field(max_length=64)] = Field(
        DEFAULT_AGENT, description="The agent by whose policy is searched: the name of its file."
    )
    user_id: OwnerId | None = Field(None, description=USER_ID)


class MemoryFragment(BaseModel):
    """A text of what was found."""

    id: str = Field(description="The record that it is of.")
    role: str = Field(description="Who said it; empty for what nobody said.")
    text: str


class FoundItem(BaseModel):
    """A memory that was found, and by what."""

    memory: MemoryItem
    score: float | None = Field(description="Higher is nearer; null for what was not compared.")
    similarity: float | None = Field(description="From 0 to 1, whatever the embedder: 0.5 is unrelated.")
    arms: dict[str, float] = Field(description="The part of each way of searching: `vector`, `lexical`, ...")
    fragments: list[MemoryFragment] = Field(description="The texts that matched, in their order.")


class SearchAnswer(BaseModel):
    """Result of a search."""

    items: list[FoundItem] = Field(description="The nearest first.")
    missing: dict[str, str] = Field(description="What could not be asked, such as the embedder, with the cause.")


@router.post(f"{PREFIX}/search", operation_id="search_memories", summary="Search memory", responses=problems(413))
async def search_memories(body: SearchBody, request: Request) -> SearchAnswer:
    """Return what an agent would find for a question, the nearest first, with the part of each way of searching.

    Nothing is written, and no language model is asked.
    """
    asked = memory_of(request, body.user_id)
    config = await agent_named(body.agent)
    memory = MemoryFacade(asked.memory.store, config.memory.showing(body.limit))
    query = MemoryQuery(
        user_id=asked.owner,
        session_id=SESSION,
        agent_id=config.name,
        scopes=body.scopes,
        query=body.query,
        as_of=body.as_of,
    )
    try:
        found = await memory.read(query)
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
    listed = [item for item in found if item.id and kind_named(item.source).listed]
    listed.sort(key=lambda item: -(item.score or 0.0))
    return SearchAnswer(items=[_shown(item) for item in listed], missing=found.missing)


def _shown(item: MemoryResultItem) -> FoundItem:
    return FoundItem(
        memory=MemoryItem.of(item.scope, item.id, item.payload, now()),
        score=item.score,
        similarity=item.similarity,
        arms={arm.value: part for arm, part in item.arms.items()},
        fragments=[MemoryFragment(id=one.id, role=one.role, text=one.content) for one in item.fragments],
    )
