"""Preview of a prompt, part by part, without a model call, a write or a web search; and the form of a run's context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langgraph.store.base import BaseStore
from pydantic import ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from react_mem.agents.config import MANAGERS, AgentConfig
from react_mem.agents.context import AgentContext, models_left
from react_mem.agents.resolve import ResolvedAgent
from react_mem.memory import MemoryFacade
from react_mem.memory.context import (
    Assembled,
    Frame,
    Window,
    assemble,
    followed_by,
    lay_out,
    message_record_id,
    tool_tokens,
)
from react_mem.memory.turns import Identity

REMEMBERING = "react_mem"
"""The manager with an assembled context; the prompt of another one is its system prompt and the whole thread."""


@dataclass(frozen=True)
class ContextPreview:
    """A prompt with the space for it and the memories found for it."""

    frame: Frame
    assembled: Assembled
    prompt: Sequence[BaseMessage]


async def preview_context(
    agent: ResolvedAgent,
    store: BaseStore,
    identity: Identity,
    thread: Sequence[AnyMessage],
    later: Sequence[AnyMessage] = (),
    *,
    named_by_records: bool = False,
) -> ContextPreview:
    """Return the prompt of an agent for the last message of a thread.

    `later` are the messages after it, where an old question is asked once more; `named_by_records` says that the ids of
    the messages are those of their records.
    """
    policy = agent.config.memory
    instructions = followed_by(agent.config.system_prompt, await agent.standing.text())
    frame = Frame(
        thread=thread,
        policy=policy,
        window=Window.of(policy.context.window, agent.model),
        instructions=instructions,
        tool_tokens=tool_tokens(agent.tools),
    )
    query = frame.query(identity, agent.config.name)
    query.extra["seen"] += [message_record_id(identity.session_id, message) for message in later]
    if named_by_records:
        own = {message_record_id(identity.session_id, message): str(message.id) for message in thread}
        query.extra["seen"] = [own[id_] for id_ in query.extra["seen"] if id_ in own]
    results = await MemoryFacade(store, policy).read(query)
    assembled = assemble(frame, results, session_id=identity.session_id, recalls=True)
    prompt = lay_out(thread, assembled.layout, instructions)
    return ContextPreview(frame, assembled, prompt)


def shown_message(message: BaseMessage) -> str:
    """Return a message of a prompt as text, with its tool calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    called = [f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})" for call in calls]
    return "\n".join(filter(None, [message.text, *called]))


# The context of a run as a deployment offers it: a form that names the agents and models there are.

_SAID = "What is said of one run, beside the messages; all may be left out."


def offered_context(configs: Sequence[AgentConfig], *, picks: bool = False) -> type[AgentContext]:
    """Return a subclass of `AgentContext` with the choices that agents leave to callers in its schema.

    Offered is what any agent leaves where the caller `picks` one (the default first), else what all of them leave.
    A choice of another field is refused at the start of the run.
    """
    merged, most = (frozenset.union, max) if picks else (frozenset.intersection, min)
    models = sorted(merged(*(frozenset(models_left(config)) for config in configs)))
    left = merged(*(frozenset[str](config.overridable) for config in configs))
    shown = {"user_id", "agent", *left} if picks else {"user_id", *left} - {"manager"}
    own: dict[str, dict[str, Any]] = {
        "model": {
            "anyOf": [{"type": "string", "enum": models}, {"type": "string"}, {"type": "null"}],
            "examples": models,
            "description": f"A chat model instead of the agent's own. There is: {', '.join(models)}.",
        },
        "max_iterations": _at_most(
            most(config.max_iterations for config in configs), "How often the model may be called in one turn."
        ),
        "max_memories": _at_most(
            most(config.memory.recall.max_memories for config in configs),
            "Memories of each kind in the prompt. An agent without memory ignores it, and checks it all the same.",
        ),
    }
    managers = sorted(MANAGERS)
    own["manager"] = {"anyOf": [{"type": "string", "enum": managers}, {"type": "null"}], "examples": managers}
    if picks:
        own["agent"] = agent_property([config.name for config in configs], "The agent that answers.")

    class Offered(AgentContext):
        model_config = ConfigDict(title="Run", json_schema_extra={"description": _SAID})

        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
            schema = handler.resolve_ref_schema(handler(core_schema))
            schema["properties"] = {
                name: {**value, **own.get(name, {})} for name, value in schema["properties"].items() if name in shown
            }
            if picks:
                # a choice of one of these is no choice of nothing
                schema["properties"]["agent"].pop("anyOf", None)
            return schema

    Offered.__name__ = Offered.__qualname__ = AgentContext.__name__
    return Offered


def agent_property(agents: Sequence[str], description: str) -> dict[str, Any]:
    """Return the JSON schema of a field that picks an agent, the default one first."""
    return {"type": "string", "enum": sorted(agents), "default": agents[0], "description": description}


def _at_most(most: int, description: str) -> dict[str, Any]:
    return {
        "anyOf": [{"type": "integer", "minimum": 1, "maximum": most}, {"type": "null"}],
        "description": f"{description} At most {most}, as the agent has it.",
    }
