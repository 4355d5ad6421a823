"""The context of a run: the same for every manager, shown as a form by LangGraph Studio."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from react_mem.errors import InvalidInputError


class AgentContext(BaseModel):
    """Context of one run, given by the caller as `context=` or under `configurable`.

    Args:
        user_id: Whose memory to use. Ignored where the server authenticates users. Without either, memory is off, or
            that of the development user (see `memory.model.identity`).
        agent: The name of the agent config; read by the `agent` graph.
        model: A chat model to use instead of the agent's: one of those that its config names.
        system_prompt: Instructions to use instead of the agent's, where its config leaves them to callers.
        max_iterations: How often the model may be called in one turn, at most the agent's number.
        use_memory: False for a run that reads no memory, and of which none is kept.
        max_memories: Memories of each scope in the prompt, at most the agent's number.
    """

    # a server passes other keys of `configurable` too
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    user_id: str | None = Field(
        None,
        title="User",
        min_length=1,
        max_length=512,
        description="Whose memory to use. Ignored where the server authenticates users. Empty: no memory.",
    )
    agent: str | None = Field(
        None,
        title="Agent",
        max_length=64,
        description="The agent config to run: the name of a YAML file in agents/. Read by the graph `agent`.",
    )
    model: str | None = Field(
        None,
        title="Chat model",
        max_length=200,
        description="A chat model instead of the agent's: one of those that its config names.",
        json_schema_extra={"langgraph_nodes": ["reason"]},
    )
    system_prompt: str | None = Field(
        None,
        title="Instructions",
        max_length=100_000,
        description="Instructions instead of the agent's, where its config leaves them to callers.",
        json_schema_extra={"langgraph_nodes": ["reason"], "langgraph_type": "prompt"},
    )
    max_iterations: int | None = Field(
        None,
        title="Calls of the model, at most",
        ge=1,
        le=100,
        description="How often the model may be called in one turn, at most the agent's number.",
        json_schema_extra={"langgraph_nodes": ["reason"]},
    )
    # strict: what is not clearly true or false is refused, since memory is what it is about
    use_memory: StrictBool | None = Field(
        None,
        title="Use memory",
        description="Off: nothing of memory is read for this run, and nothing of it is kept. An agent without memory "
        "ignores it.",
        json_schema_extra={"langgraph_nodes": ["retrieve_context", "extract"]},
    )
    max_memories: int | None = Field(
        None,
        title="Memories, at most",
        ge=1,
        le=100,
        description="Memories of each scope in the prompt, at most the agent's number. An agent without memory ignores "
        "it.",
        json_schema_extra={"langgraph_nodes": ["retrieve_context"]},
    )

    @classmethod
    def of(cls, context: Any, configurable: dict[str, Any] | None) -> AgentContext:
        """Return the context of a run, read from `configurable` where the caller passed none.

        Args:
            context: `runtime.context`: an `AgentContext`, or None.
            configurable: The `configurable` of the run's config.

        Raises:
            InvalidInputError: If a value cannot be used; it names the fields, and repeats nothing of them.
        """
        if isinstance(context, cls):
            return context
        given = {key: value for key, value in (configurable or {}).items() if key in cls.model_fields}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            wrong = [f"{part['loc'][0]}: {part['msg']}" for part in error.errors(include_input=False)]
            raise InvalidInputError(f"The run's context cannot be used: {'; '.join(wrong)}.") from None
