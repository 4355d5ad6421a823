"""Task of a turn in an agent's graph, on by the policy's `tasks.enabled`: its planner, and its place in the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from react_mem.agents.resolve import ResolvedAgent
from react_mem.graphs.working_memory import with_note
from react_mem.memory.context import is_users
from react_mem.memory.runtime import Asker, TaskNotes, TurnTasks


def tasks_of(agent: ResolvedAgent) -> TurnTasks | None:
    """Return the tasks of an agent's turns, None where its policy has none."""
    policy = agent.config.memory
    if not policy.tasks.enabled:
        return None
    models = agent.with_stand_ins(agent.small_model)
    planner = Asker(models, policy.recall.timeout, "planning") if models else None
    return TurnTasks(planner, {tool.name: tool.description for tool in agent.tools}, agent.config.name, policy)


def with_task(messages: Sequence[BaseMessage], notes: TaskNotes | None) -> list[BaseMessage]:
    """Return the messages for the prompt, the task at the end of the user's message.

    Args:
        messages: The messages.
        notes: The task.
    """
    asked = next((i for i in range(len(messages) - 1, -1, -1) if is_users(messages[i])), None)
    if asked is None or notes is None or not notes["shown"]:
        return list(messages)
    return [*messages[:asked], with_note(messages[asked], notes["shown"]), *messages[asked + 1 :]]
