"""`POST /memory/v1/erase`: a user's right to be forgotten: memories and threads are erased, with a signed receipt."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Request
from httpx import HTTPError
from langgraph.store.base import BaseStore
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from pydantic import BaseModel, Field

from react_mem.agents.coding_hooks.owed_notes import forget_owed
from react_mem.graphs.callers import may_name_user, owner_of
from react_mem.graphs.chat_summary_route import BoundedMemoryRoute
from react_mem.graphs.server_threads import ServerThreads
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import (
    AuditActor,
    AuditReason,
    OwnerId,
    SignedReceipt,
    acting,
    cause_of,
    refuse_held,
)

CONFIRMED = "erase everything"

router = APIRouter(tags=["Memory"], route_class=BoundedMemoryRoute)

log = logging.getLogger(__name__)


class EraseBody(BaseModel):
    """Request to erase all that is remembered of a user, and their threads.

    Args:
        confirm: The words that say so.
        user_id: The owner.
    """

    confirm: Literal["erase everything"] = Field(description=f"`{CONFIRMED}`: it cannot be undone.")
    user_id: OwnerId | None = Field(
        None, description="Whose memory it is. Ignored where the server authenticates users: then it is theirs."
    )


class EraseAnswer(BaseModel):
    """Result of the request."""

    receipt: SignedReceipt = Field(
        description="What was removed, and what a look through everything found of it afterwards, signed: "
        "`react-mem receipt verify` takes it, or this whole answer, as it is."
    )
    threads: list[str] = Field(description="The conversations that were erased.")
    problems: list[str] = Field(description="What is left, or could not be looked at; empty where everything is gone.")


_ANSWERS: dict[int | str, dict[str, Any]] = {
    401: {"description": "Where the server authenticates users: nobody is authenticated."},
    404: {"description": "Nobody is named."},
    423: {"description": "The user, or a conversation of theirs, is under a legal hold: nothing was removed."},
    503: {"description": "This server has no store, or its threads cannot be reached: ask again."},
}


@router.post("/memory/v1/erase", operation_id="erase_user", summary="Erase everything about a user", responses=_ANSWERS)
@router.post(
    "/memory/erase",
    operation_id="erase_user_deprecated",
    summary="Erase everything about a user",
    responses=_ANSWERS,
    deprecated=True,
)
async def erase_user(body: EraseBody, request: Request) -> EraseAnswer:
    """Erase what is remembered of the caller, with their threads, for good.

    Runs that go on in these threads are cancelled. A request that failed half way can be made again.
    """
    owner = owner_of(request, body.user_id)
    if owner is None:
        raise HTTPException(404, "no user is named (user_id), so there is nothing of theirs")
    store: BaseStore | None = getattr(request.app.state, "store", None)
    if store is None:
        raise HTTPException(503, "this server has no store")
    try:
        # no key of the environment: it is the server itself that is asked
        async with get_client(api_key=None) as client:
            return await _erased(store, client, owner, authenticates=not may_name_user(request))
    except HTTPError as error:
        log.warning("a user could not be erased: the server's threads cannot be reached: %s", cause_of(error))
        raise HTTPException(503, "the server's threads cannot be reached: some may be left; ask again") from None


async def _erased(store: BaseStore, client: LangGraphClient, user_id: str, *, authenticates: bool) -> EraseAnswer:
    threads = ServerThreads(client, user_id, authenticates=authenticates)
    memory = MemoryFacade(store, checkpointer=threads)
    with acting(AuditActor.USER, AuditReason.REQUEST):
        for hold in await memory.holds(user_id):
            # before the threads go
            refuse_held(hold)
        spoken = await memory.forget_user(user_id, proof=True)
    await asyncio.to_thread(forget_owed, user_id)
    return EraseAnswer(
        receipt=await memory.signed(user_id, spoken.receipt),
        threads=[*spoken],
        problems=list(spoken.receipt.problems),
    )
