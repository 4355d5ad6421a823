"""Tasks of several steps: planned by a small model, checked, kept, and shown to the agent in a few lines."""

from react_mem.memory.reflect.tasks.plan_reading import Plan, parse
from react_mem.memory.reflect.tasks.planning import plan_of
from react_mem.memory.reflect.tasks.progress import observed
from react_mem.memory.reflect.tasks.proof import evidence_in, proven
from react_mem.memory.reflect.tasks.resuming import asks_to_go_on
from react_mem.memory.reflect.tasks.task_lines import context_of
from react_mem.memory.reflect.tasks.task_steps import MAX_STEPS, Step, TaskGraph, merge, woven
from react_mem.memory.reflect.tasks.task_store import KeptTask, TaskKeeper

__all__ = [
    "MAX_STEPS",
    "KeptTask",
    "Plan",
    "Step",
    "TaskGraph",
    "TaskKeeper",
    "asks_to_go_on",
    "context_of",
    "evidence_in",
    "merge",
    "observed",
    "parse",
    "plan_of",
    "proven",
    "woven",
]
