"""`/memory/v1/conversations`: list, show, forget, conclude and store the conversations of a user."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, Field

from react_mem.agents.context_preview import REMEMBERING
from react_mem.errors import OtherWordsError, UnfitMessageError
from react_mem.graphs.chat_summary_route import BoundedRoute
from react_mem.graphs.memory_api.callers_memory import (
    MAX_PAGE,
    USER_ID,
    Asked,
    found,
    memory_of,
    problems,
    rest_router,
    returned_by,
    wrong,
)
from react_mem.graphs.memory_api.forget_api import ForgetAnswer, memory_and_threads
from react_mem.graphs.memory_api.memories_api import DEFAULT_AGENT
from react_mem.integrations.coding_hooks.owed_notes import forget_owed
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import ClientMessage, OwnerId, StoredMessage, store_told
from react_mem.memory.turns import AgentMemory, Identity, conclude_soon

router = rest_router("Conversations")
ending = APIRouter(tags=["Conversations"], route_class=BoundedRoute)

log = logging.getLogger(__name__)

ThreadId = Annotated[str, Path(min_length=1, max_length=512, description="The conversation: the id of its thread.")]

_CONVERSATION = "conversation that is remembered"
_Cursor = Annotated[str, Query(max_length=2_000, description="The `next_cursor` of the page before.")]


@router.get("/conversations", summary="List conversations", response_model=returned_by(MemoryFacade.conversations))
async def list_conversations(
    asked: Asked,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Conversations on a page.")] = 50,
    cursor: _Cursor = "",
) -> Any:
    """List the conversations of which memory has something, the one first in which something was last said.

    One that goes on while the pages are turned moves to the first of them.
    """
    return await asked.memory.conversations(asked.owner, limit=limit, cursor=cursor)


@router.get(
    "/conversations/{thread_id}", summary="Show a conversation", response_model=returned_by(MemoryFacade.conversation)
)
async def show_conversation(
    thread_id: ThreadId,
    asked: Asked,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Messages on a page.")] = 100,
    cursor: _Cursor = "",
    first_turn: Annotated[int, Query(ge=0, description="Where the messages begin: a summary says its own.")] = 0,
) -> Any:
    """Show a conversation with the tree of its summaries and a page of its messages, the oldest first."""
    told = await asked.memory.conversation(asked.owner, thread_id, limit=limit, cursor=cursor, first_turn=first_turn)
    return found(told, _CONVERSATION)


@router.delete("/conversations/{thread_id}", summary="Forget a conversation", responses=problems(423))
async def forget_conversation(thread_id: ThreadId, asked: Asked, request: Request) -> ForgetAnswer:
    """Forget a conversation for good: its messages, its thread on this server, and what was derived from it alone."""
    found(await asked.memory.conversation(asked.owner, thread_id, limit=1), _CONVERSATION)
    async with memory_and_threads(request, asked, "ask again") as memory:
        receipt = await memory.delete_session(asked.owner, thread_id)
    await asyncio.to_thread(forget_owed, asked.owner, thread_id)
    return ForgetAnswer.of(receipt)


class EndBody(BaseModel):
    """Request to end a conversation."""

    user_id: OwnerId | None = Field(
        None, description="Whose conversation it is. Ignored where the server authenticates users: then it is theirs."
    )


class EndedConversation(BaseModel):
    """Result of ending a conversation."""

    status: str = Field(description="`ending`: it is concluded behind this answer.")


@ending.post(
    "/conversations/{thread_id}/end",
    operation_id="end_conversation",
    summary="End a conversation",
    status_code=202,
    responses={
        401: {"description": "Where the server authenticates users: nobody is authenticated."},
        404: {"description": "This user has no such conversation, or none that is remembered."},
        503: {"description": "This server has no store."},
    },
)
async def end_conversation(
    thread_id: Annotated[str, Path(max_length=200)], request: Request, body: EndBody | None = None
) -> EndedConversation:
    """Have a conversation concluded: its outcome is recorded as an episode, and facts of it are looked at again.

    The user can still go on with it; it is then concluded again.
    """
    asked = memory_of(request, body.user_id if body else None)
    found(await conclude_soon(asked.memory.store, asked.owner, thread_id) or None, _CONVERSATION)
    return EndedConversation(status="ending")


# `POST /memory/v1/conversations/{thread_id}/messages`: store messages of an agent of another framework.

MAX_MESSAGES = 100
MAX_WORDS = 20_000
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_SKEW = timedelta(minutes=5)  # tolerated lead of a client's clock


def _said_before(at: datetime) -> datetime:
    told = at if at.tzinfo else at.replace(tzinfo=UTC)
    if told < _EARLIEST:
        raise ValueError("it is before 1970; leave it out where nobody knows when it was said")
    if told > datetime.now(UTC) + _SKEW:
        raise ValueError("it is in the future; send an ISO 8601 time with a zone, or leave it out")
    return told


class SaidMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["user", "assistant"] = Field(description="Who says it.")
    content: Annotated[str, Field(min_length=1, max_length=MAX_WORDS)] = Field(description="What is said, in words.")
    id: Annotated[str, Field(max_length=512)] = Field(
        "",
        description="What you call it, in its conversation alone: told again it is the same message. Without, it is "
        "known by its place and its words.",
    )
    created_at: Annotated[datetime, AfterValidator(_said_before)] | None = Field(
        None, description="When it was said (ISO 8601), which is not in the future; by default now."
    )


class StoreMessagesBody(BaseModel):
    """Request to store what was said in a conversation."""

    messages: Annotated[list[SaidMessage], Field(min_length=1, max_length=MAX_MESSAGES)] = Field(
        description="Messages in order: the new ones, or the whole conversation with them."
    )
    agent: Annotated[str, Field(max_length=64)] = Field(
        DEFAULT_AGENT, description="The agent whose model is to read it behind this answer, as it reads turns."
    )
    user_id: OwnerId | None = Field(None, description=USER_ID)


class StoreMessagesAnswer(BaseModel):
    """Messages as they are stored."""

    messages: list[StoredMessage] = Field(description="Those of the request, in its order.")
    waiting: int = Field(description="Turns of the conversation from which nothing has been drawn yet.")


@router.post(
    "/conversations/{thread_id}/messages",
    summary="Store what was said in a conversation",
    status_code=202,
    responses={
        200: {"model": StoreMessagesAnswer, "description": "All of it is known already; nothing was written."},
        **problems(409, 413),
    },
)
async def store_messages(
    thread_id: ThreadId, body: StoreMessagesBody, request: Request, response: Response
) -> StoreMessagesAnswer:
    """Store what was said to an agent of any framework: facts are drawn from it behind this answer, as from turns here.

    Each message is stored once: send what is new, the same again, or the whole conversation with every message. Those
    without an `id` are known by their place and words, so that two in a row which are there already count as these:
    name what may well be said again. An `id` that stands for other words is refused (409), and nothing is stored.

    A conversation that is not there begins. The assistant's words teach nothing about the user.
    """
    asked = memory_of(request, body.user_id)
    config = await asked.as_agent(body.agent)
    if config.manager != REMEMBERING:
        why = f"its manager is {config.manager}, which remembers nothing; name one of {REMEMBERING}"
        raise wrong("agent", why)
    # no model: who works behind the turns draws from them with the agent's
    turns = AgentMemory(config.name, config.memory).turns(
        asked.memory.store, Identity(asked.owner, thread_id, threaded=False)
    )
    told = [ClientMessage(one.role, one.content, one.id, one.created_at) for one in body.messages]
    try:
        taken = await store_told(turns, told)
    except OtherWordsError as error:
        raise HTTPException(409, f"messages.{error.place}.id: {error}") from None
    except UnfitMessageError as error:
        where = ("body", "messages", error.place, "content")
        raise RequestValidationError([{"type": "value_error", "loc": where, "msg": str(error)}]) from None
    if all(one.outcome != "new" for one in taken):
        response.status_code = 200
    waiting = await turns.memory.pending(asked.owner)
    return StoreMessagesAnswer(messages=taken, waiting=sum(one["session_id"] == thread_id for one in waiting))
