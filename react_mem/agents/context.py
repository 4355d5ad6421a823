"""The context of a run: the same for every manager, shown as a form by LangGraph Studio."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from react_mem.agents.config import MANAGERS, AgentConfig, Overridable
from react_mem.agents.models import resolve_chat_spec
from react_mem.errors import ChoiceRefused
from react_mem.memory.runtime import OwnerId

_SERVERS = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "cron_id", "task_id"})
_SERVERS_BEGIN = ("langgraph_", "__", "checkpoint_", "x-")
"""LangGraph's own names, and prefixes of others."""

_ALIKE = 0.8
"""Least likeness, of 1, of a misspelling to one of our names."""


class AgentContext(BaseModel):
    """Context of one run, given by the caller as `context=` or under `configurable`.

    Attributes:
        user_id: Whose memory to use. Ignored where the server authenticates users. Without either, memory is off, or
            that of the development user (see `memory.model.identity`).
        agent: The name of the agent config; read by the `agent` graph.
        manager: `react` or `react_mem` instead of the agent's, where its config leaves that to callers; read by the
            `agent` graph.
        model: A chat model to use instead of the agent's: one of those that its config names.
        system_prompt: Instructions to use instead of the agent's, where its config leaves them to callers.
        max_iterations: How often the model may be called in one turn, at most the agent's number.
        use_memory: False for a run that reads no memory, and of which none is kept.
        max_memories: Memories of each scope in the prompt, at most the agent's number.

    Raises:
        ChoiceRefused: If a value cannot be used, or a name is not one of these; it names the fields, and repeats
            nothing of what they say.
    """

    # LangGraph passes names of its own too
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    user_id: OwnerId | None = Field(
        None,
        title="User",
        description="Whose memory to use. Ignored where the server authenticates users. Empty: no memory.",
    )
    agent: str | None = Field(
        None,
        title="Agent",
        max_length=64,
        description="The agent config to run: the name of a YAML file in agents/. Read by the graph `agent`.",
    )
    manager: str | None = Field(
        None,
        title="Manager",
        max_length=64,
        description="How the agent runs, where its config leaves that to callers. Read by the graph `agent`.",
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
        "it, and checks the number all the same.",
        json_schema_extra={"langgraph_nodes": ["retrieve_context"]},
    )

    def __init__(self, /, **given: Any) -> None:
        """Read the settings; an unknown name is refused, since it may be a known one misspelt."""
        refuse_names(given, type(self).model_fields)
        try:
            super().__init__(**given)
        except ValidationError as error:
            wrong = [
                f"{'.'.join(map(str, part['loc'])) or 'context'}: {part['msg']}"
                for part in error.errors(include_input=False, include_url=False)
            ]
            raise ChoiceRefused(f"The run's context cannot be used: {'; '.join(wrong)}.") from None

    @classmethod
    def of(cls, context: Any, configurable: dict[str, Any] | None) -> AgentContext:
        """Return the context of a run (`runtime.context`), read from its `configurable` where the caller passed none.

        Nodes and tools read names of their own from `configurable`, so there only misspelt names of ours are refused:
        `ChoiceRefused`, which names fields, not values.
        """
        given = configurable or {}
        if isinstance(context, cls):
            refuse_names(given, type(context).model_fields, others=True)
            return context
        refuse_names(given, cls.model_fields, others=True)
        return cls(**{key: value for key, value in given.items() if key in cls.model_fields})


def refuse_names(given: Iterable[str], known: Collection[str], *, others: bool = False) -> None:
    """Refuse unknown names in a run's context, except LangGraph's own; with `others`, refuse misspellings alone.

    Raises `ChoiceRefused`.
    """
    for name in given:
        if name in known or name in _SERVERS or name.startswith(_SERVERS_BEGIN):
            continue
        near = get_close_matches(name.lower().replace("-", "_")[:100], known, 1, _ALIKE)
        if near:
            raise ChoiceRefused(f"The run's context has no {name[:100]!r}: is {near[0]!r} meant?")
        if not others:
            raise ChoiceRefused(f"The run's context has no {name[:100]!r}, but {', '.join(sorted(known))}.")


# Choices of callers for one run: only what the agent's config leaves to them is taken.


def refuse_choices(config: AgentConfig, context: AgentContext, model_name: str) -> None:
    """Refuse a context with choices that the config does not leave to callers; the message repeats no value.

    Raises `ChoiceRefused`. `model_name` is the agent's chat model, which every caller may name.
    """
    own = {model_name, resolve_chat_spec(config.models.chat)}
    if context.model and resolve_chat_spec(context.model) not in own:
        _check_left(config, "model")
        may = own.union(models_left(config))
        if resolve_chat_spec(context.model) not in may:
            raise ChoiceRefused(
                f"The agent {config.name!r} does not run with the model that was chosen for this run. It runs with "
                f"{_listed(may)}; whoever deploys it may add others to models.choices."
            )
    if context.manager and context.manager != config.manager:
        _check_left(config, "manager")
        raise ChoiceRefused(
            f"This graph runs the agent {config.name!r} with {config.manager}. The graph `agent` of a server runs it "
            "with another manager; in Python, open the config with it."
        )
    if context.system_prompt and context.system_prompt != config.system_prompt:
        _check_left(config, "system_prompt")
    if context.use_memory is False:
        _check_left(config, "use_memory")
    limits: dict[Overridable, tuple[int, str]] = {
        "max_iterations": (config.max_iterations, "calls of its model in one turn"),
        "max_memories": (config.memory.recall.max_memories, "memories of each scope in a prompt"),
    }
    for name, (most, what) in limits.items():
        chosen = getattr(context, name)
        if chosen is None or chosen == most:
            continue
        _check_left(config, name)
        if chosen > most:
            raise ChoiceRefused(f"The agent {config.name!r} takes at most {most} {what}; choose no more as {name}.")


def left_manager(config: AgentConfig, manager: str) -> str:
    """Return the manager that a caller chose for a run; `ChoiceRefused` if the agent does not leave it to them."""
    _check_left(config, "manager")
    # a caller never names code
    if manager not in MANAGERS:
        raise ChoiceRefused(f"There is no such manager, but {_listed(MANAGERS)}.")
    return manager


def models_left(config: AgentConfig) -> set[str]:
    """Return the models that an agent runs with: its own, and those it leaves to callers."""
    own = {resolve_chat_spec(config.models.chat)}
    if "model" not in config.overridable:
        return own
    return own.union(map(resolve_chat_spec, (*config.models.fallback, *config.models.choices)))


def _check_left(config: AgentConfig, name: Overridable) -> None:
    if name in config.overridable:
        return
    left = _listed(config.overridable) if config.overridable else "nothing"
    raise ChoiceRefused(
        f"The agent {config.name!r} does not leave its {name} to callers, but {left}. Leave it out of the run's "
        f"context; whoever deploys the agent may list {name} under overridable in its YAML."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
