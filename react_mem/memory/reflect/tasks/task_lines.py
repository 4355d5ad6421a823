"""A task graph as the prompt shows it: what can be done now, and what that rests on, within a budget."""

from __future__ import annotations

from react_mem.memory.llm.answers import flat
from react_mem.memory.llm.budget import count_lines
from react_mem.memory.reflect.tasks.task_steps import Step, TaskGraph

MAX_TOKENS = 300
"""Of the whole block: the goal, a frontier of five steps and what they rest on take 150."""

_LINE_CHARS = 200
_ERROR_CHARS = 120


def context_of(task: TaskGraph, current: str | None = None, max_tokens: int = MAX_TOKENS) -> str:
    """Return a task in a few lines, each of which is data.

    The frontier comes first in what is kept, from the current step on; then what it depends on, the nearest first.
    What does not fit is pruned and counted.

    Args:
        task: The task.
        current: The step that was worked on last.
        max_tokens: What the lines may take.

    Returns:
        The lines; empty where nothing is left to do.

    >>> trip = TaskGraph("A trip", (Step("1", "find a flight", status="done"), Step("2", "book it", ("1",))))
    >>> print(context_of(trip))
    Goal: A trip
    1. [done] find a flight
    2. [now] book it (after 1)
    """
    if task.is_over:
        return ""
    ready = task.frontier()
    order = sorted(ready, key=lambda step: _distance(step, current))
    wanted = [*order, *task.needed_by(step.id for step in order)]
    goal = f"Goal: {flat(task.goal, _LINE_CHARS)}"
    room = max_tokens - count_lines(goal) - count_lines(_rest(len(task.steps)))
    lines: dict[str, str] = {}
    for step in wanted:
        line = _line(step, step in ready)
        if (cost := count_lines(line)) <= room:
            lines[step.id] = line
            room -= cost
    hidden = sum(step.id not in lines for step in task.steps)
    shown = [lines[step.id] for step in task.steps if step.id in lines]
    return "\n".join([goal, *shown, *([_rest(hidden)] if hidden else [])])


def _distance(step: Step, current: str | None) -> int:
    if step.id == current:
        return 0
    return 1 if current in step.depends_on else 2


def _line(step: Step, ready: bool) -> str:
    mark = step.status if step.status in ("done", "skipped", "failed", "running") else "now" if ready else "later"
    after = f" (after {', '.join(step.depends_on)})" if step.depends_on else ""
    error = f" (failed: {flat(step.error, _ERROR_CHARS)})" if step.error else ""
    return f"{flat(step.id, _LINE_CHARS)}. [{mark}] {flat(step.description, _LINE_CHARS)}{after}{error}"


def _rest(count: int) -> str:
    return f"({count} more, done already or to come later)"
