"""`POST /memory/v1/feedback`: a user's verdict on an answer raises or lowers the memories that it used."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from fastapi import APIRouter, HTTPException, Request
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field, StringConstraints, model_validator

from react_mem.graphs.callers import owner_of
from react_mem.graphs.chat_summary_route import BoundedMemoryRoute
from react_mem.graphs.known_fields import AlsoTaken
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import OwnerId

router = APIRouter(tags=["Memory"], route_class=BoundedMemoryRoute)

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
    """Feedback on an answer: in our form, or as a client of LangSmith sends it.

    Args:
        thread_id: The conversation.
        message_id: The answer, or the question.
        run_id: The run that answered.
        score: What the user thinks of it.
        value: The same in words, as LangSmith has it.
        key: What is judged.
        comment: Words of the user's.
        user_id: The owner.
    """

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
    user_id: OwnerId | None = Field(
        None, description="Whose conversation it is. Ignored where the server authenticates users: then it is theirs."
    )

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


_ANSWERS: dict[int | str, dict[str, Any]] = {
    401: {"description": "Where the server authenticates users: nobody is authenticated."},
    404: {"description": "This user has no such answer that is remembered."},
    409: {"description": "The answer has feedback under as many keys as it takes."},
    413: {"description": "The request is too long."},
    503: {"description": "This server has no store."},
}


@router.post(
    "/memory/v1/feedback", operation_id="give_feedback", summary="Say what an answer was worth", responses=_ANSWERS
)
@router.post(
    "/memory/feedback",
    operation_id="give_feedback_deprecated",
    summary="Say what an answer was worth",
    responses=_ANSWERS,
    deprecated=True,
)
async def give_feedback(body: FeedbackBody, request: Request) -> FeedbackAnswer:
    """Raise or lower the memories that stood in the prompt of an answer, and count for the skills that it followed.

    Said again, it changes nothing; of each key the last word counts.
    """
    owner = owner_of(request, body.user_id)
    if owner is None:
        raise HTTPException(404, "no user is named (user_id), so there is no answer of theirs")
    store: BaseStore | None = getattr(request.app.state, "store", None)
    if store is None:
        raise HTTPException(503, "this server has no store")
    turn = {"session_id": body.thread_id, "message_id": body.message_id, "run_id": body.run_id}
    try:
        report = await MemoryFacade(store).feedback(owner, body.verdict or 0, **turn, key=body.key)
    except ValueError as error:
        raise HTTPException(409, str(error)) from None
    if report is None:
        raise HTTPException(404, "this user has no such answer that is remembered")
    names: dict[int, Literal["up", "down", "none"]] = {1: "up", -1: "down", 0: "none"}
    return FeedbackAnswer(verdict=names[report.verdict], memories=report.memories, skills=report.skills)
