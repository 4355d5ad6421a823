"""`POST /memory/v1/forget`: forget something for good, with what came of it and the sentences that said it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from fastapi import APIRouter, HTTPException, Request
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field, StringConstraints, model_validator

from react_mem.graphs.callers import owner_of
from react_mem.graphs.chat_summary_route import BoundedMemoryRoute
from react_mem.memory import MemoryFacade, Receipt
from react_mem.memory.runtime import OwnerId

MAX_IDS = 100
MAX_TEXT = 2_000

router = APIRouter(tags=["Memory"], route_class=BoundedMemoryRoute)


class ForgetBody(BaseModel):
    """Request to forget something of an owner.

    Args:
        ids: Memories.
        text: What is to be forgotten, in words.
        user_id: The owner.
    """

    ids: list[OwnerId] = Field([], max_length=MAX_IDS, description="The ids of memories, as an export has them.")
    text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_TEXT)] = Field(
        "", description="What is to be forgotten, in the user's words: the one memory that says it."
    )
    user_id: OwnerId | None = Field(
        None, description="Whose memory it is. Ignored where the server authenticates users: then it is theirs."
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if bool(self.ids) == bool(self.text):
            raise ValueError("give either `ids` or `text`")
        return self


class ForgetAnswer(BaseModel):
    """Result of the request."""

    receipt: Receipt = Field(description="What was removed, and what was found when everything was read again.")
    problems: list[str] = Field(
        description="What is left of it, could not be looked at, or was not there under its id; empty where all of it "
        "is gone."
    )
    unclear: list[str] = Field(
        description="What the text may mean, where that is not clear: nothing was forgotten then. Ask by `ids`, or in "
        "the words of one of these."
    )


_ANSWERS: dict[int | str, dict[str, Any]] = {
    401: {"description": "Where the server authenticates users: nobody is authenticated."},
    404: {"description": "This user has no such memory."},
    413: {"description": "The request is too long."},
    423: {"description": "Something of it is under a legal hold: nothing was removed."},
    503: {"description": "This server has no store."},
}


@router.post("/memory/v1/forget", operation_id="forget_memory", summary="Forget something", responses=_ANSWERS)
@router.post(
    "/memory/forget",
    operation_id="forget_memory_deprecated",
    summary="Forget something",
    responses=_ANSWERS,
    deprecated=True,
)
async def forget_memory(body: ForgetBody, request: Request) -> ForgetAnswer:
    """Forget memories for good: a fact goes with what derives from it, and with the sentences of messages that said it.

    Of several ids those that are known are forgotten, and `problems` names the others.

    The thread keeps its messages, which no prompt shows any more; delete it through the server's own API.
    """
    owner = owner_of(request, body.user_id)
    if owner is None:
        raise HTTPException(404, "no user is named (user_id), so there is no memory of theirs")
    store: BaseStore | None = getattr(request.app.state, "store", None)
    if store is None:
        raise HTTPException(503, "this server has no store")
    memory = MemoryFacade(store)
    if body.text:
        done = await memory.forget_said(owner, body.text)
        receipt, unclear = done.receipt, list(done.unclear)
    else:
        receipt, unclear = await memory.forget(owner, *body.ids), []
    if not (receipt.removed or receipt.rewritten or unclear):
        raise HTTPException(404, "this user has no such memory")
    return ForgetAnswer(receipt=receipt, problems=[*_unknown(body.ids, receipt), *receipt.problems], unclear=unclear)


def _unknown(ids: Sequence[str], receipt: Receipt) -> list[str]:
    """Return what is told of ids that were to be forgotten, and that nothing was found by."""
    found = {id_ for part in (receipt.removed, receipt.rewritten) for named in part.values() for id_ in named}
    return [f"{id_}: this user has no such memory" for id_ in dict.fromkeys(ids) if id_ not in found]
