"""Choices of callers for one run: only what the agent's config leaves to them is taken."""

from __future__ import annotations

from collections.abc import Iterable

from react_mem.agents.config import AgentConfig, Overridable
from react_mem.agents.context import AgentContext
from react_mem.agents.models import resolve_chat_spec
from react_mem.errors import ChoiceRefused


def refuse_choices(config: AgentConfig, context: AgentContext, model_name: str) -> None:
    """Refuse a context that chooses what the config does not leave to callers; one that chooses nothing passes.

    Args:
        config: The agent's config.
        context: What the caller says of the run.
        model_name: What the agent's chat model is called, which is always theirs to name.

    Raises:
        ChoiceRefused: If it does. The message repeats nothing of it, but names what may be chosen.
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
    if context.system_prompt and context.system_prompt != config.system_prompt:
        _check_left(config, "system_prompt")
    if context.max_iterations is not None and context.max_iterations != config.max_iterations:
        _check_left(config, "max_iterations")
        if context.max_iterations > config.max_iterations:
            raise ChoiceRefused(
                f"The agent {config.name!r} calls its model at most {config.max_iterations} times in one turn; choose "
                "no more as max_iterations."
            )
    if context.use_memory is False:
        _check_left(config, "use_memory")
    most = config.memory.recall.max_memories
    if context.max_memories is not None and context.max_memories != most:
        _check_left(config, "max_memories")
        if context.max_memories > most:
            raise ChoiceRefused(
                f"The agent {config.name!r} takes at most {most} memories of each scope into a prompt; choose no more "
                "as max_memories."
            )


def models_left(config: AgentConfig) -> set[str]:
    """Return the models that an agent runs with: its own, and what it leaves to callers.

    Args:
        config: The agent's config.
    """
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
