"""Graph `chat_summary`, also used by its route: sum up a conversation and complete its newest message.

Stateless: a run reads nothing of an earlier one, in a thread or without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from typing_extensions import TypedDict

from react_mem.agents.config import load_agent_config
from react_mem.agents.context_preview import agent_property
from react_mem.agents.resolve import resolve_agent
from react_mem.errors import InvalidInputError
from react_mem.memory.runtime import ChatSummarizer, ChatSummary, ChatSummaryRequest
from react_mem.memory.turns import identify

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
