"""The context of a run: the same for every manager, shown as a form by LangGraph Studio."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class AgentContext(BaseModel):
    """What a caller may say about one run, as `context=` or under `configurable`.

    Args:
        user_id: Whose memory to use. Ignored where the server authenticates users. Without either, memory is off.
        agent: The agent config to run; read by the `agent` graph.
        model: A chat model to use instead of the agent's, as an `init_chat_model` string.
        system_prompt: Instructions to use instead of the agent's.
        max_iterations: How often the model may be called in one turn.
    """

    model_config = ConfigDict(extra="ignore")

    user_id: Annotated[
        str | None,
        Field(description="Whose memory to use. Ignored where the server authenticates users."),
    ] = None
