"""`chat_summary`: sum up a conversation and complete its newest message, as a graph and for the route beside it.

Stateless: a run reads nothing of an earlier one, in a thread or without.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from langgraph.config import get_config
from langgraph.func import entrypoint
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.config import load_agent_config
from agents.extractive import ExtractiveChatModel
from agents.resolve import resolve_agent
from agents.text_dialect import TextDialect
from graphs.errors import InvalidInputError
from memory.chat_summary import ChatSummarizer, ChatSummary, ChatSummaryRequest
from memory.identity import identify

DEFAULT_AGENT = "assistant"


class ChatSummaryContext(BaseModel):
    """Whose conversation it is, and which agent's model and policy to use.

    Args:
        user_id: The owner of the profile; ignored where the server authenticates users. Empty: no profile is read.
        agent: The agent.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    user_id: str | None = Field(
        None,
        description="Whose profile to merge in. Ignored where the server authenticates users. Empty: none is read.",
    )
    agent: str = Field(DEFAULT_AGENT, description="The agent whose model and policy to use.")


@cache
def summarizer_for(agent: str) -> ChatSummarizer:
    """Return what makes the summaries of an agent, built once. Blocking: it reads files and imports.

    Args:
        agent: The agent.

    Raises:
        AgentConfigError: If there is no such agent, or its file is not valid; the message lists those there are.
        ModelConfigError: If a model of its cannot be loaded.
        ToolConfigError: If a tool of its cannot be loaded.
    """
    resolved = resolve_agent(load_agent_config(agent))
    fallback = (named.model for named in resolved.fallback)
    # without the dialect for tool calls, as there are none; the model that only quotes can sum up nothing
    models = [model.inner if isinstance(model, TextDialect) else model for model in (resolved.small_model, *fallback)]
    return ChatSummarizer(
        [model for model in models if not isinstance(model, ExtractiveChatModel)], resolved.config.memory, agent
    )


def as_output(summary: ChatSummary) -> dict[str, Any]:
    """Return a summary as JSON; what it had to do without is left out where it is whole."""
    return summary.model_dump(mode="json", exclude=None if summary.degraded else {"degraded"})


def build_chat_summary() -> Pregel[Any, Any, Any, Any]:
    """Return the graph, with a conversation as input and the state of it as output."""

    @entrypoint(context_schema=ChatSummaryContext)
    async def chat_summary(request: ChatSummaryRequest, runtime: Runtime[ChatSummaryContext]) -> ChatSummary:
        """Sum up a conversation and complete its newest message."""
        given: Any = runtime.context  # a caller from Python may leave it out
        context = given or ChatSummaryContext.model_validate(get_config().get("configurable") or {})
        identity = identify(runtime, get_config())
        summarizer = await asyncio.to_thread(summarizer_for, context.agent)
        summary = await summarizer.summarize(
            checked(request), store=runtime.store, user_id=identity.user_id if identity else None
        )
        return as_output(summary)  # type: ignore[return-value]  # the annotation is the output's schema

    return chat_summary


def checked(given: Any) -> ChatSummaryRequest:
    """Return the input of a run, checked.

    Args:
        given: What the caller sent.

    Raises:
        InvalidInputError: If it is no conversation; it names every field that is wrong, and repeats none of it.
    """
    try:
        return ChatSummaryRequest.model_validate(given)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors(include_input=False)]
        raise InvalidInputError("; ".join(wrong)) from None
