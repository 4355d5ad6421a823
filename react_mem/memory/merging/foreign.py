"""Human messages that are not the user's: a page returned by a tool, a task delegated by another agent.

Only the input of a run is the user's. Texts from a tool are marked as the tool returns them. An agent run by a tool is
addressed by another agent. An agent that is a node of another graph gets that graph's thread, in which a named message
is another agent's, unless the thread begins with that name. Unnamed additions by nodes of such a graph cannot be told
from the user's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Send

from react_mem.memory.merging.transcript import by_other, is_users
from react_mem.memory.model.namespaces import setting

_TOOL_NODES = frozenset({"tools", "act"})
"""Names of the node that runs tools: LangGraph's own, and ours."""

_in_tool: ContextVar[bool] = ContextVar("in_tool", default=False)

M = TypeVar("M", bound=BaseMessage)
R = TypeVar("R")


def running_tool() -> AbstractContextManager[None]:
    """Mark the run of a tool: agents run within it are delegated to, on any thread."""
    return setting(_in_tool, True)


def is_delegated(config: RunnableConfig, thread: Sequence[BaseMessage] = ()) -> bool:
    """Return true if another agent wrote the input of a run: within a tool, or as a subagent of Deep Agents.

    Human messages in its `thread` of which none is the user's mean delegation as well.
    """
    human = [message for message in thread if isinstance(message, HumanMessage)]
    return (
        _in_tool.get()
        or (config.get("configurable") or {}).get("ls_agent_type") == "subagent"
        or not _TOOL_NODES.isdisjoint(_nodes_above(config))
        or bool(human and not any(map(is_users, human)))
    )


def by_other_agents(thread: Sequence[M], config: RunnableConfig) -> list[M]:
    """Return the messages of other agents in the thread of a parent graph, marked as theirs."""
    if not _nodes_above(config):
        return []
    human = [message for message in thread if is_users(message)]
    return [by_other(one, "agent") for one in human if one.name and one.name != human[0].name]


def _nodes_above(config: RunnableConfig) -> list[str]:
    path = str((config.get("configurable") or {}).get("checkpoint_ns") or "").split("|")
    return [part.split(":")[0] for part in path[:-1]]


def from_tool(result: R, state: Any) -> R:
    """Return the result of a tool with its human messages marked as the tool's.

    Messages of the agent's thread, in its `state`, that a tool passes on stay as they are.
    """
    if isinstance(result, list):
        return [from_tool(part, state) for part in result]  # type: ignore[return-value]
    if not isinstance(result, Command):
        return result
    thread = state.get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", ())
    goto = [_sent(one, thread) for one in result.goto] if isinstance(result.goto, list | tuple) else result.goto
    return replace(result, update=_update(result.update, thread), goto=_sent(goto, thread))


def _sent(goto: Any, thread: Sequence[BaseMessage]) -> Any:
    return Send(goto.node, _update(goto.arg, thread)) if isinstance(goto, Send) else goto


def _update(update: Any, thread: Sequence[BaseMessage]) -> Any:
    if isinstance(update, Mapping):
        return {name: _said(value, thread) if name == "messages" else value for name, value in update.items()}
    if isinstance(update, list | tuple):
        return [(name, _said(value, thread) if name == "messages" else value) for name, value in update]
    return update


def _said(said: Any, thread: Sequence[BaseMessage]) -> Any:
    if not isinstance(said, list | tuple | str | dict | BaseMessage):
        # it replaces the thread, or is no message
        return said
    messages = convert_to_messages(said if isinstance(said, list) else [said])
    return [message if message in thread else by_other(message, "tool") for message in messages]
