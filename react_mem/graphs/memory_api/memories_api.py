"""`/memory/v1/memories`: list, add, show, correct and delete the memories of a user."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from react_mem.errors import MemoryFull
from react_mem.graphs.memory_api.callers_memory import (
    MAX_PAGE,
    USER_ID,
    Asked,
    CallersMemory,
    IfMatch,
    etag,
    found,
    is_alike,
    list_etag,
    memory_of,
    problems,
    rest_router,
    returned_by,
    tagged,
    wanted_revision,
    wrong,
)
from react_mem.graphs.memory_api.forget_api import ForgetAnswer
from react_mem.memory import MemoryDetail, MemoryFacade, MemoryItem, MemoryScope, Origin
from react_mem.memory.runtime import OwnerId, remember

DEFAULT_AGENT = "assistant"
MAX_SAID = 2_000

router = rest_router()

MemoryId = Annotated[str, Path(min_length=1, max_length=512, description="The id of the memory.")]
_Name = Annotated[str, Field(max_length=100)]

_OF_THE_MEMORY = "Of the memory: its revision, for `If-Match`."


class RememberBody(BaseModel):
    """Request to remember something."""

    text: Annotated[str, Field(max_length=MAX_SAID)] = Field(
        description="What the user says, in their own words: statements, such as `I live in Hue.`"
    )
    about: _Name = Field("", description="Whom or what it is about, by name; empty for the user.")
    agent: Annotated[str, Field(max_length=64)] = Field(
        DEFAULT_AGENT, description="The agent whose model is to read it behind this answer, as it reads turns."
    )
    user_id: OwnerId | None = Field(None, description=USER_ID)


class ToldMemory(BaseModel):
    """A memory, and whether it is news."""

    memory: MemoryItem
    outcome: Literal["new", "known"] = Field(description="`known` where it is believed already, in these words.")


class RememberAnswer(ToldMemory):
    """Result of telling something."""

    also: list[ToldMemory] = Field(description="The further statements of the text, a memory each.")


class CorrectBody(BaseModel):
    """Request to correct a fact."""

    text: Annotated[str, Field(max_length=MAX_SAID)] = Field(description="What is true instead, in the user's words.")
    user_id: OwnerId | None = Field(None, description=USER_ID)


@router.get(
    "/memories",
    summary="List memories",
    response_model=returned_by(MemoryFacade.page),
    responses={
        200: {
            **tagged("Of the list: it changes with every write of the caller's memory."),
        },
        **problems(304),
    },
)
async def list_memories(
    asked: Asked,
    response: Response,
    scope: Annotated[list[MemoryScope], Query(max_length=20, description="Scopes; several may be named.")] = [],  # noqa: B006
    kind: Annotated[list[_Name], Query(max_length=40, description="Kinds, such as `fact`.")] = [],  # noqa: B006
    state: Annotated[
        Literal["current", "past", "all"], Query(description="What is believed, what no longer is, or both.")
    ] = "current",
    session_id: Annotated[str | None, Query(max_length=512, description="A conversation.")] = None,
    origin: Annotated[list[Origin], Query(max_length=20, description="Who vouches for it.")] = [],  # noqa: B006
    topic: Annotated[str, Query(max_length=200, description="A topic of facts, as `topics` names them.")] = "",
    since: Annotated[datetime | None, Query(description="The earliest time at which it came into memory.")] = None,
    before: Annotated[datetime | None, Query(description="The time before which it did.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Memories on a page.")] = 50,
    cursor: Annotated[str, Query(max_length=2_000, description="The `next_cursor` of the page before.")] = "",
    topics: Annotated[bool, Query(description="Whether to tell the topics of all memories.")] = False,
    if_none_match: Annotated[
        str, Header(alias="If-None-Match", max_length=400, description="The ETag of the list that is known.")
    ] = "",
) -> Any:
    """List what is remembered of the caller, the latest first, page by page.

    What is written while the pages are turned neither repeats nor hides a memory on those that follow. Without a scope
    and a kind, what memory writes for itself is left out. The ETag changes with every write of the caller's memory.
    """
    memory, owner = asked.memory, asked.owner
    headers = {"cache-control": "private, no-cache"}
    if if_none_match and is_alike(if_none_match, current := list_etag(await memory.revision(owner))):
        return Response(status_code=304, headers={**headers, "etag": current})
    page = await memory.page(
        owner,
        scopes=scope,
        kinds=kind,
        state=state,
        session_id=session_id,
        origins=[one.value for one in origin],
        topic=topic,
        since=since,
        before=before,
        limit=limit,
        cursor=cursor,
        with_topics=topics,
    )
    response.headers.update({**headers, "etag": list_etag(page.revision)})
    return page


@router.post(
    "/memories",
    operation_id="remember",
    summary="Remember something",
    status_code=201,
    responses={
        200: {
            "model": RememberAnswer,
            "description": "All of it is known already; it has one source more, if it had none of this kind.",
            **tagged(_OF_THE_MEMORY),
        },
        201: tagged(_OF_THE_MEMORY),
        **problems(413),
    },
)
async def remember_said(body: RememberBody, request: Request, response: Response) -> RememberAnswer:
    """Remember what the user says, in their own words; said twice it is one memory.

    What is known already has this as one source more, however often it is told, so that it outlives the conversation
    that said it first.

    A text of several statements is a memory each, and so is what tells the assistant what to do from now on: a message,
    which stands in prompts. What only asks, requests, greets or supposes, and what shows somebody else's words, states
    nothing and is refused.
    """
    asked = memory_of(request, body.user_id)
    config = await asked.as_agent(body.agent)
    # under the agent's policy, whose quotas bound it
    memory = MemoryFacade(asked.memory.store, config.memory)
    try:
        told = await remember(memory, asked.owner, body.text, about=body.about, agent_id=body.agent)
    except MemoryFull:
        raise
    except ValueError as error:
        raise wrong("text", error) from None
    first, *also = [
        ToldMemory(memory=one, outcome="new" if one.id in told.new else "known")
        for one in sorted(told.memories, key=lambda one: one.id not in told.new)
    ]
    response.status_code = 201 if told.new else 200
    response.headers["location"] = f"{request.url.path}/{first.memory.id}"
    response.headers["etag"] = etag(first.memory.revision)
    return RememberAnswer(memory=first.memory, outcome=first.outcome, also=also)


@router.get(
    "/memories/{memory_id}", summary="Show a memory and why it is believed", responses={200: tagged(_OF_THE_MEMORY)}
)
async def show_memory(memory_id: MemoryId, asked: Asked, response: Response) -> MemoryDetail:
    """Show a memory with its history, the messages it comes from, what was made of it, its links and its uses.

    The ETag is the memory's own, for `If-Match`.
    """
    detail = found(await asked.memory.explain(asked.owner, memory_id), "memory")
    response.headers["etag"] = etag(detail.memory.revision)
    return detail


@router.patch(
    "/memories/{memory_id}",
    summary="Correct a fact",
    responses={200: tagged(_OF_THE_MEMORY), **problems(412, 413)},
)
async def correct_memory(
    memory_id: MemoryId, body: CorrectBody, request: Request, response: Response, if_match: IfMatch = ""
) -> MemoryItem:
    """Put the user's own words in the place of a fact, which stays as dated history; return what is believed now.

    What states nothing is refused, as where something is remembered. With `If-Match` only the fact that was looked at
    is corrected.
    """
    asked = memory_of(request, body.user_id)
    try:
        revision = wanted_revision(if_match, (await _known(asked, memory_id)).revision)
        fact = await asked.memory.correct(asked.owner, memory_id, body.text, revision=revision)
    except ValueError as error:
        raise wrong("text", error) from None
    now_believed = await _known(asked, fact.id)
    response.headers["etag"] = etag(now_believed.revision)
    return now_believed


@router.delete("/memories/{memory_id}", summary="Forget a memory", responses=problems(412, 423))
async def forget_memory_by_id(memory_id: MemoryId, asked: Asked, if_match: IfMatch = "") -> ForgetAnswer:
    """Forget a memory for good: a fact goes with what derives from it, and with the sentences of messages that said it.

    With `If-Match` only what was looked at is forgotten.
    """
    revision = wanted_revision(if_match, (await _known(asked, memory_id)).revision)
    receipt = await asked.memory.forget(asked.owner, memory_id, revision=revision)
    found(receipt.removed or receipt.rewritten or None, "memory")
    return ForgetAnswer.of(receipt)


async def _known(asked: CallersMemory, memory_id: str) -> MemoryItem:
    return found(await asked.memory.find(asked.owner, memory_id), "memory")
