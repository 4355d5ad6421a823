"""`/memory/v1/forget`, `/erase` and `/feedback`: forget memories, erase a user, rate an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from fastapi import HTTPException, Request
from httpx import HTTPError, HTTPStatusError
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import RunStatus, Thread
from pydantic import BaseModel, Field, StringConstraints, model_validator

from react_mem.graphs.auth.permissions import OWNER
from react_mem.graphs.callers import may_name_user
from react_mem.graphs.memory_api.callers_memory import (
    USER_ID,
    AlsoTaken,
    CallersMemory,
    found,
    memory_of,
    problems,
    rest_router,
)
from react_mem.integrations.coding_hooks.owed_notes import forget_owed
from react_mem.memory import MemoryFacade, Receipt
from react_mem.memory.runtime import OwnerId, SignedReceipt
from react_mem.memory.turns import cause_of

# Server threads of one user: found and deleted through the server's own API, in its process.

_PAGE = 100
_GOING_ON: tuple[RunStatus, ...] = ("pending", "running")


class ServerThreads(BaseCheckpointSaver[Any]):
    """The server's threads of one user, with the methods of a checkpointer that forgetting calls.

    The server checks no permissions in its own process, so the owner of a thread is checked here. Where users are
    authenticated, a thread that is noted as the user's but names another owner is left alone.
    """

    def __init__(self, client: LangGraphClient, user_id: str, *, authenticates: bool) -> None:
        super().__init__()
        self._client = client
        self._user_id = user_id
        self._authenticates = authenticates

    async def athreads_of(self, user_id: str, thread_id: str | None = None) -> list[str]:
        """Return the user's threads by their metadata; with `thread_id`, that thread alone if it is one."""
        if thread_id is not None:
            thread = await self._thread(thread_id)
            return [thread_id] if thread is not None and _owner(thread) == user_id else []
        found: dict[str, None] = {}
        while True:
            page = await self._client.threads.search(
                metadata={OWNER: user_id}, select=["thread_id"], limit=_PAGE, offset=len(found)
            )
            before = len(found)
            found |= dict.fromkeys(thread["thread_id"] for thread in page)
            if len(page) < _PAGE or len(found) == before:
                return [*found]

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread with its runs and its state; a missing thread, or another user's, is skipped."""
        if not await self._is_theirs(thread_id):
            return
        for status in _GOING_ON:
            for run in await self._client.runs.list(thread_id, status=status, limit=_PAGE):
                # what goes on would be remembered after everything is forgotten
                await _unless_gone(self._client.runs.cancel(thread_id, run["run_id"], wait=True))
        await _unless_gone(self._client.threads.delete(thread_id))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return an empty state if the user has such a thread, else None."""
        there = await self._is_theirs(str(config["configurable"]["thread_id"]))
        return CheckpointTuple(config, empty_checkpoint(), {}) if there else None

    async def _is_theirs(self, thread_id: str) -> bool:
        thread = await self._thread(thread_id)
        return thread is not None and (_owner(thread) in (None, self._user_id) or not self._authenticates)

    async def _thread(self, thread_id: str) -> Thread | None:
        try:
            # a conversation of a terminal, or of another application, is none of the server's
            UUID(thread_id)
        except ValueError:
            return None
        found: Thread | None = await _unless_gone(self._client.threads.get(thread_id))
        return found


def _owner(thread: Thread) -> Any:
    return (thread["metadata"] or {}).get(OWNER)


async def _unless_gone(asked: Any) -> Any:
    try:
        return await asked
    except HTTPStatusError as error:
        if error.response.status_code not in (404, 409):
            raise
        return None


@asynccontextmanager
async def memory_and_threads(request: Request, asked: CallersMemory, refusal: str) -> AsyncIterator[MemoryFacade]:
    """Yield the caller's memory with the server's threads; 503 with `refusal` where these cannot be reached.

    Memory that an application opened has the checkpointer that it was opened with.
    """
    if asked.is_mounted:
        yield asked.memory
        return
    try:
        # no key of the environment: it is the server itself that is asked
        async with get_client(api_key=None) as client:
            threads = ServerThreads(client, asked.owner, authenticates=not may_name_user(request))
            yield MemoryFacade(asked.memory.store, checkpointer=threads)
    except HTTPError as error:
        log.warning("nothing more is forgotten: the server's threads cannot be reached: %s", cause_of(error))
        raise HTTPException(503, f"the server's threads cannot be reached: {refusal}") from None


MAX_IDS = 100
MAX_TEXT = 2_000
CONFIRMED = "erase everything"

router = rest_router()

log = logging.getLogger(__name__)


class ForgetBody(BaseModel):
    """Request to forget something of an owner."""

    ids: list[OwnerId] = Field([], max_length=MAX_IDS, description="The ids of memories, as an export has them.")
    text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_TEXT)] = Field(
        "", description="What is to be forgotten, in the user's words: the one memory that says it."
    )
    user_id: OwnerId | None = Field(None, description=USER_ID)

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

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        """Return the answer to a request that was clear."""
        return cls(receipt=receipt, problems=list(receipt.problems), unclear=[])


@router.post("/forget", summary="Forget something", responses=problems(413, 423))
async def forget_memory(body: ForgetBody, request: Request) -> ForgetAnswer:
    """Forget memories for good: a fact goes with what derives from it, and with the sentences of messages that said it.

    Of several ids those that are known are forgotten, and `problems` names the others.

    The thread keeps its messages, which no prompt shows any more; delete it through the server's own API.
    """
    asked = memory_of(request, body.user_id)
    if body.text:
        done = await asked.memory.forget_said(asked.owner, body.text)
        receipt, unclear = done.receipt, list(done.unclear)
    else:
        receipt, unclear = await asked.memory.forget(asked.owner, *body.ids), []
    found(receipt.removed or receipt.rewritten or unclear or None, "memory")
    known = {id_ for part in (receipt.removed, receipt.rewritten) for named in part.values() for id_ in named}
    unknown = [f"{id_}: this user has no such memory" for id_ in dict.fromkeys(body.ids) if id_ not in known]
    return ForgetAnswer(receipt=receipt, problems=[*unknown, *receipt.problems], unclear=unclear)


class EraseBody(BaseModel):
    """Request to erase all that is remembered of a user, and their threads."""

    confirm: Literal["erase everything"] = Field(description=f"`{CONFIRMED}`: it cannot be undone.")
    user_id: OwnerId | None = Field(None, description=USER_ID)


class EraseAnswer(BaseModel):
    """Result of the request."""

    receipt: SignedReceipt = Field(
        description="What was removed, and what a look through everything found of it afterwards, signed: "
        "`react-mem receipt verify` takes it, or this whole answer, as it is."
    )
    threads: list[str] = Field(description="The conversations that were erased.")
    problems: list[str] = Field(description="What is left, or could not be looked at; empty where everything is gone.")


@router.post("/erase", summary="Erase everything about a user", responses=problems(413, 423))
async def erase_user(body: EraseBody, request: Request) -> EraseAnswer:
    """Erase what is remembered of the caller, with their threads, for good.

    Runs that go on in these threads are cancelled. A request that failed half way can be made again.
    """
    asked = memory_of(request, body.user_id)
    async with memory_and_threads(request, asked, "some may be left; ask again") as memory:
        spoken = await memory.forget_user(asked.owner, proof=True)
        await asyncio.to_thread(forget_owed, asked.owner)
        # the answer says nothing that is not signed
        removed = {**spoken.receipt.removed, "thread": tuple(spoken)} if spoken else spoken.receipt.removed
        return EraseAnswer(
            receipt=await memory.signed(asked.owner, spoken.receipt.model_copy(update={"removed": removed})),
            threads=[*spoken],
            problems=list(spoken.receipt.problems),
        )


_WORDS = {"up": 1, "good": 1, "yes": 1, "true": 1, "down": -1, "bad": -1, "no": -1, "false": -1, "none": 0}
_VERDICTS: tuple[Literal[-1, 0, 1], ...] = (-1, 0, 1)
_OF_LANGSMITH = frozenset(
    [
        "address",
        "comparative_experiment_id",
        "correction",
        "created_at",
        "error",
        "extend_trace_retention",
        "extra",
        "feedback_config",
        "feedback_group_id",
        "feedback_source",
        "feedback_source_type",
        "id",
        "metadata",
        "modified_at",
        "session_id",
        "source_info",
        "source_run_id",
        "start_time",
        "trace_id",
    ]
)
"""Further fields of a feedback that LangSmith's clients send."""

_Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]


class FeedbackBody(AlsoTaken):
    """Feedback on an answer: in our form, or as a client of LangSmith sends it."""

    also_taken: ClassVar = _OF_LANGSMITH

    thread_id: _Name = Field("", description="The conversation; not needed beside `run_id`.")
    message_id: _Name = Field(
        "", description="The answer or the question, by its id, or its record's; by default the last answer."
    )
    run_id: _Name = Field("", description="The run that answered, in place of `thread_id` and `message_id`.")
    score: float | bool | Literal["up", "down"] | None = Field(
        None,
        description="1 or `up`, -1 or `down`, 0 for neither any more. With `run_id` alone it is LangSmith's, where 0 "
        "is bad and 1 is good.",
    )
    value: Any = Field(None, description="Read where there is no `score`: `up`, `down`, `good`, `bad`, yes or no.")
    key: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)] = Field(
        "user", description="What is judged. Of each key the last word counts."
    )
    comment: str | None = Field(None, max_length=10_000, description="Taken, and kept nowhere.")
    user_id: OwnerId | None = Field(None, description=USER_ID)

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if not (self.thread_id or self.run_id):
            raise ValueError("give `thread_id`, with `message_id` or without, or `run_id`")
        if self.verdict is None:
            raise ValueError(
                "give `score`: 1, 0, -1, `up` or `down`; with `run_id` alone, a number from 0 to 1 (LangSmith's)"
            )
        return self

    @property
    def verdict(self) -> Literal[-1, 0, 1] | None:
        """The verdict: good, bad, neither any more; None where the user says none of them."""
        said = self.score if self.score is not None else self.value
        if isinstance(said, str):
            said = _WORDS.get(said.strip().lower())
        if isinstance(said, bool):
            return 1 if said else -1
        if not isinstance(said, int | float):
            return None
        if self.run_id and not self.thread_id and self.score is not None and not isinstance(self.score, str):
            # LangSmith's scores lie between 0 and 1
            return (1 if said >= 0.5 else -1) if 0 <= said <= 1 else None
        return next((verdict for verdict in _VERDICTS if verdict == said), None)


class FeedbackAnswer(BaseModel):
    """Result of the request."""

    verdict: Literal["up", "down", "none"] = Field(description="What the user thinks of the turn, all keys together.")
    memories: int = Field(description="How many memories it moved; none where nothing has changed.")
    skills: int = Field(description="How many skills it counted for.")


@router.post(
    "/feedback",
    summary="Say what an answer was worth",
    responses={**problems(413), 409: {"description": "The answer has feedback under as many keys as it takes."}},
)
async def give_feedback(body: FeedbackBody, request: Request) -> FeedbackAnswer:
    """Raise or lower the memories that stood in the prompt of an answer, and count for the skills that it followed.

    Said again, it changes nothing; of each key the last word counts.
    """
    asked = memory_of(request, body.user_id)
    turn = {"session_id": body.thread_id, "message_id": body.message_id, "run_id": body.run_id}
    try:
        report = await asked.memory.feedback(asked.owner, body.verdict or 0, **turn, key=body.key)
    except ValueError as error:
        raise HTTPException(409, str(error)) from None
    report = found(report, "answer that is remembered")
    names: dict[int, Literal["up", "down", "none"]] = {1: "up", -1: "down", 0: "none"}
    return FeedbackAnswer(verdict=names[report.verdict], memories=report.memories, skills=report.skills)
