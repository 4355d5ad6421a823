"""`/memory/v1/conversations`: list, show, forget and conclude the conversations of a user."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from httpx import HTTPError
from langgraph_sdk import get_client
from pydantic import BaseModel, Field

from react_mem.graphs.callers import may_name_user
from react_mem.graphs.chat_summary_route import BoundedRoute
from react_mem.graphs.memory_api.callers_memory import (
    MAX_PAGE,
    PREFIX,
    Asked,
    MemoryRoute,
    found,
    memory_of,
    problems,
    returned_by,
)
from react_mem.graphs.memory_api.forget_api import ForgetAnswer
from react_mem.graphs.server_threads import ServerThreads
from react_mem.integrations.coding_hooks.owed_notes import forget_owed
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import OwnerId
from react_mem.memory.turns import cause_of, conclude_soon

router = APIRouter(tags=["Conversations"], route_class=MemoryRoute)
ending = APIRouter(tags=["Conversations"], route_class=BoundedRoute)

log = logging.getLogger(__name__)

ThreadId = Annotated[str, Path(min_length=1, max_length=512, description="The conversation: the id of its thread.")]

_CONVERSATION = "conversation that is remembered"

_Cursor = Annotated[str, Query(max_length=2_000, description="The `next_cursor` of the page before.")]


@router.get(
    f"{PREFIX}/conversations",
    operation_id="list_conversations",
    summary="List conversations",
    response_model=returned_by(MemoryFacade.conversations),
    responses=problems(),
)
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
    f"{PREFIX}/conversations/{{thread_id}}",
    operation_id="show_conversation",
    summary="Show a conversation",
    response_model=returned_by(MemoryFacade.conversation),
    responses=problems(),
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


@router.delete(
    f"{PREFIX}/conversations/{{thread_id}}",
    operation_id="forget_conversation",
    summary="Forget a conversation",
    responses=problems(423),
)
async def forget_conversation(thread_id: ThreadId, asked: Asked, request: Request) -> ForgetAnswer:
    """Forget a conversation for good: its messages, its thread on this server, and what was derived from it alone."""
    found(await asked.memory.conversation(asked.owner, thread_id, limit=1), _CONVERSATION)
    try:
        # no key of the environment: it is the server itself that is asked
        async with get_client(api_key=None) as client:
            threads = ServerThreads(client, asked.owner, authenticates=not may_name_user(request))
            memory = MemoryFacade(asked.memory.store, checkpointer=threads)
            receipt = await memory.delete_session(asked.owner, thread_id)
    except HTTPError as error:
        log.warning("a conversation stays: the server's threads cannot be reached: %s", cause_of(error))
        raise HTTPException(503, "the server's threads cannot be reached: ask again") from None
    await asyncio.to_thread(forget_owed, asked.owner, thread_id)
    return ForgetAnswer.of(receipt)


class EndBody(BaseModel):
    """Request to end a conversation.

    Args:
        user_id: The owner.
    """

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
