"""The context of a run: the same for every manager, shown as a form by LangGraph Studio."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class AgentContext(BaseModel):
    """Context of one run, given by the caller as `context=` or under `configurable`.

    Args:
        user_id: Whose memory to use. Ignored where the server authenticates users. Without either, memory is off, or
            that of the development user (see `memory.model.identity`).
        agent: The name of the agent config; read by the `agent` graph.
        model: A chat model to use instead of the agent's, as an `init_chat_model` string.
        system_prompt: Instructions to use instead of the agent's.
        max_iterations: How often the model may be called in one turn, instead of the agent's number.
    """

    # a server passes other keys of `configurable` too
    model_config = ConfigDict(extra="ignore", frozen=True)

    user_id: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Whose memory to use. Ignored where the server authenticates users. Empty: no memory.",
    )
    agent: str | None = Field(
        None, description="The agent config to run: the name of a YAML file in agents/. Read by the graph `agent`."
    )
    model: str | None = Field(
        None,
        description="A chat model instead of the agent's, such as openai:gpt-4.1-mini.",
        json_schema_extra={"langgraph_nodes": ["reason"]},
    )
    system_prompt: str | None = Field(
        None,
        description="Instructions instead of the agent's.",
        json_schema_extra={"langgraph_nodes": ["reason"], "langgraph_type": "prompt"},
    )
    max_iterations: int | None = Field(
        None,
        ge=1,
        le=100,
        description="How often the model may be called in one turn.",
        json_schema_extra={"langgraph_nodes": ["reason"]},
    )

    @classmethod
    def of(cls, context: Any, configurable: dict[str, Any] | None) -> AgentContext:
        """Return the context of a run, read from `configurable` where the caller passed none.

        Args:
            context: `runtime.context`: an `AgentContext`, or None.
            configurable: The `configurable` of the run's config.

        Raises:
            pydantic.ValidationError: If a value is of the wrong type.
        """
        if isinstance(context, cls):
            return context
        given = {key: value for key, value in (configurable or {}).items() if key in cls.model_fields}
        return cls.model_validate(given)
