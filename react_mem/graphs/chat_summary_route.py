"""`POST /chat/summary`: sum up a conversation and complete its newest message.

The route does its work itself, without a run: its caller waits, and a run's place in the queue, its thread and its
stored input would be of no use to them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from langgraph.channels import EphemeralValue
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import Message
from typing_extensions import TypedDict

from react_mem.agents.config import load_agent_config
from react_mem.agents.context_preview import agent_property
from react_mem.agents.resolve import resolve_agent
from react_mem.errors import (
    DeadlineExceeded,
    ExtractionError,
    InvalidInputError,
    ModelConfigError,
    ModelUnavailable,
    ReactMemError,
    ToolConfigError,
    UnknownAgent,
)
from react_mem.graphs.callers import owner_of
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import ChatSummarizer, ChatSummary, ChatSummaryRequest, OwnerId
from react_mem.memory.turns import cause_of, for_clients, identify, trace_of

# Graph `chat_summary`, also used by its route: sum up a conversation and complete its newest message.

DEFAULT_AGENT = "assistant"


class ChatSummaryContext(BaseModel):
    """Context of a summary: the owner of the profile, and the agent whose model and policy to use."""

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        title="Summary",
        json_schema_extra={"description": "What is said about one summary, beside the conversation."},
    )

    user_id: str | None = Field(
        None,
        title="User",
        max_length=512,
        description="Whose profile to merge in. Ignored where the server authenticates users. Empty: none is read.",
    )
    agent: str = Field(
        DEFAULT_AGENT, title="Agent", max_length=64, description="The agent whose model and policy to use."
    )


@cache
def summarizer_for(agent: str) -> ChatSummarizer:
    """Return the summarizer of an agent, built once. Blocking: it reads files and imports.

    Raises `AgentConfigError`, `ModelConfigError` or `ToolConfigError` if the agent cannot be loaded.
    """
    resolved = resolve_agent(load_agent_config(agent))
    return ChatSummarizer(resolved.with_stand_ins(resolved.small_model), resolved.config.memory, agent)


class _Given(TypedDict, total=False):
    """The input, for the length of a step: in a thread, nothing of it is left to the next run."""

    user_input: Annotated[Any, EphemeralValue]
    conversation_id: Annotated[Any, EphemeralValue]
    recent_messages: Annotated[Any, EphemeralValue]
    previous_summary: Annotated[Any, EphemeralValue]
    ad_content: Annotated[Any, EphemeralValue]


async def summarize(state: _Given, *, runtime: Runtime[ChatSummaryContext]) -> dict[str, Any]:
    """Sum up a conversation and complete its newest message."""
    config = get_config()
    given: Any = runtime.context  # a caller from Python may leave it out
    context = given or ChatSummaryContext.model_validate(config.get("configurable") or {})
    identity = identify(runtime, config)
    summarizer = await asyncio.to_thread(summarizer_for, context.agent)
    summary = await summarizer.summarize(
        checked(state), store=runtime.store, user_id=identity.user_id if identity else None
    )
    return summary.model_dump(mode="json")


def build_chat_summary(agents: Sequence[str] = ()) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph; its context offers `agents`, if given."""
    context: type[ChatSummaryContext] = ChatSummaryContext
    if agents:
        names = sorted(agents, key=lambda name: name != DEFAULT_AGENT)
        offered = agent_property(names, "The agent whose model sums up.")
        field: Any = Field(DEFAULT_AGENT, max_length=64, title="Agent", json_schema_extra=offered)
        context = create_model(ChatSummaryContext.__name__, __base__=ChatSummaryContext, agent=(str, field))
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        _Given, context, input_schema=ChatSummaryRequest, output_schema=ChatSummary
    )
    graph.add_node("summarize", summarize)
    graph.add_edge(START, "summarize")
    graph.add_edge("summarize", END)
    return graph.compile(name="chat_summary")


def checked(given: Any) -> ChatSummaryRequest:
    """Return the validated input of a run; `InvalidInputError` names every wrong field, without the content."""
    try:
        return ChatSummaryRequest.model_validate(given)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors(include_input=False)]
        raise InvalidInputError("; ".join(wrong)) from None


MAX_BODY_BYTES = 2_000_000
"""Maximum size of a request: every field at its longest, in a script of three bytes a character, fits."""

log = logging.getLogger(__name__)


class BoundedRoute(APIRoute):
    """A route that refuses a body beyond the bound, before reading more than that.

    Its actions are audited as the user's. An unforeseen error is reported by its class alone.
    """

    most = MAX_BODY_BYTES

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, most = super().get_route_handler(), self.most

        async def bounded(request: Request) -> Response:
            too_long = HTTPException(413, f"the request is longer than {most:,} bytes; send less at once")
            said = request.headers.get("content-length", "")
            if said.isascii() and said.isdigit() and int(said) > most:
                raise too_long
            left = most

            async def receive() -> Message:
                nonlocal left
                message = await request.receive()
                left -= len(message.get("body", b""))
                if left < 0:
                    raise too_long
                return message

            try:
                with acting(AuditActor.USER, AuditReason.REQUEST):
                    return await handle(Request(request.scope, receive))
            except (AnyHTTPException, RequestValidationError, ReactMemError):
                raise
            except Exception as error:
                # what it says may be anybody's: a statement, a key, what another user wrote
                log.error("%s %s failed: %s\n%s", request.method, self.path, cause_of(error), trace_of(error))
                said = f"the request failed ({type(error).__name__}); the server's log says where"
                raise HTTPException(500, said) from None

        return bounded


router = APIRouter(tags=["Chat summary"], route_class=BoundedRoute)


class ChatSummaryBody(ChatSummaryRequest):
    """A conversation to sum up, whose it is and as which agent."""

    user_id: OwnerId | None = Field(
        None, description="Whose profile is merged in. Ignored where the server authenticates users: then it is theirs."
    )
    agent: str = Field(
        DEFAULT_AGENT, max_length=64, description="The agent whose model and policy are used: the name of its file."
    )


class ErrorAnswer(BaseModel):
    """Answer to a request that could not be carried out."""

    detail: Any = Field(description="The cause; of a request that is wrong, the fields that are.")


_Loaded = TypeVar("_Loaded")


async def loaded_for(agent: str, load: Callable[[str], _Loaded]) -> _Loaded:
    """Return what is loaded for the agent that a request names; 422 if there is none, 503 if it cannot run."""
    try:
        return await asyncio.to_thread(load, agent)
    except UnknownAgent as error:
        wrong = {"type": "value_error", "loc": ("body", "agent"), "msg": str(error).removeprefix("agent: ")}
        raise RequestValidationError([wrong]) from None
    except (ModelConfigError, ToolConfigError) as error:
        log.warning("the agent %r cannot run: %s", agent, error)
        raise HTTPException(503, f"the agent {agent!r} cannot run: {for_clients(error)}") from None


def _problem(description: str) -> dict[str, Any]:
    return {"model": ErrorAnswer, "description": description}


@router.post(
    "/chat/summary",
    operation_id="chat_summary",
    summary="Sum up a conversation and complete its newest message",
    response_model=ChatSummary,
    # what it had to do without is left out where it is whole
    response_model_exclude_defaults=True,
    response_description="The state of the conversation.",
    responses={
        401: _problem("Where the server authenticates users: nobody is authenticated."),
        413: _problem(f"The request is longer than {MAX_BODY_BYTES:,} bytes."),
        429: _problem("The user has used up a quota of the day; `Retry-After` says when it is free again."),
        502: _problem("The model or its service refuses the request: a wrong key, an unknown model."),
        503: _problem("The model cannot be reached or is overloaded; `Retry-After` says when to try again, if known."),
        504: _problem("The model did not answer in time."),
    },
)
async def chat_summary(body: ChatSummaryBody, request: Request) -> ChatSummary:
    """Return the new summary of a conversation, with what is known of the customer merged in, and the customer's newest
    message as one that can be understood by itself.

    Nothing is stored: send the answer's `sum_history` back as the next request's `previous_summary`, with the messages
    since then. One call of the agent's small model; its tokens are in `usage`, as the provider counted them. Who the
    customer is comes from their profile, or from the lookup that the deployment plugs in, and never from the model.

    `degraded` is there only if something was missing. Where its `part` is `model`, the answer of the model was of no
    use: the summary is the previous one, and the same messages belong into the next request again.
    """
    summarizer: ChatSummarizer = await loaded_for(body.agent, summarizer_for)
    owner = owner_of(request, body.user_id)
    store: BaseStore | None = getattr(request.app.state, "store", None)
    try:
        return await summarizer.summarize(body, store=store, user_id=owner)
    except ModelUnavailable as error:
        headers = {"retry-after": f"{error.retry_after:.0f}"} if error.retry_after is not None else None
        raise HTTPException(503, str(error), headers) from None
    except DeadlineExceeded as error:
        raise HTTPException(504, str(error)) from None
    except ExtractionError as error:
        raise HTTPException(502, str(error)) from None
