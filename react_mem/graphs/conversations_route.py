"""`POST /conversations/{thread_id}/end`: conclude a conversation now, instead of when it has gone quiet."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from react_mem.graphs.callers import owner_of
from react_mem.graphs.chat_summary_route import BoundedRoute
from react_mem.memory.runtime import OwnerId, conclude_soon

router = APIRouter(tags=["Conversations"], route_class=BoundedRoute)


ThreadId = Annotated[str, Path(max_length=200)]


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


@router.post(
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
async def end_conversation(thread_id: ThreadId, request: Request, body: EndBody | None = None) -> EndedConversation:
    """Have a conversation concluded: its outcome is recorded as an episode, and facts of it are looked at again.

    The user can still go on with it; it is then concluded again.
    """
    owner = owner_of(request, body.user_id if body else None)
    if owner is None:
        raise HTTPException(404, "no user is named (user_id), so there is no conversation of theirs")
    store: BaseStore | None = getattr(request.app.state, "store", None)
    if store is None:
        raise HTTPException(503, "this server has no store")
    if not await conclude_soon(store, owner, thread_id):
        raise HTTPException(404, "this user has no such conversation that is remembered")
    return EndedConversation(status="ending")
