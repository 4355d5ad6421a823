"""Progress of a task by its agent's steps: told without a model where a tool takes a step.

That an answer was given proves nothing of the steps that no tool takes. How far those are the planner tells with the
next request, by the words that show it (`memory.reflect.tasks.proof`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from react_mem.memory.language.terms import index_terms
from react_mem.memory.reflect.tasks.task_steps import Step, TaskGraph

_MAX_ERROR = 200


def observed(task: TaskGraph, steps: Sequence[Mapping[str, Any]]) -> tuple[TaskGraph, str | None]:
    """Return a task as it is after tools were called.

    Args:
        task: The task.
        steps: What the agent did: `action`, `arguments`, `observation` and `error` each.

    Returns:
        The task, and the id of the step that was worked on last; None where none was.
    """
    current = None
    for done in steps:
        step = _taken(task, done)
        if step is None:
            continue
        current = step.id
        error = " ".join(str(done["error"]).split())[:_MAX_ERROR]
        task = task.marked(step.id, "failed" if error else "done", error)
    return task, current


def _taken(task: TaskGraph, done: Mapping[str, Any]) -> Step | None:
    """Return the step that a tool call takes: of those that name the tool, the one whose words it uses."""
    ready = task.frontier()
    same = [step for step in task.steps if step.tool == done["action"] and (step.is_over or step in ready)]
    if not same:
        return None
    said = set(index_terms(" ".join(map(str, done["arguments"].values()))))
    # a call that speaks of what is done already is that step's once more; where no word tells, the next one is meant
    best = max(same, key=lambda step: (len(said & set(index_terms(step.description))), not step.is_over))
    return None if best.is_over else best
