"""Tasks of several steps: planned by a small model, checked, kept, and shown to the agent in a few lines."""

from react_mem.memory.reflect.tasks.planning import SAID, plan_of
from react_mem.memory.reflect.tasks.progress import observed
from react_mem.memory.reflect.tasks.proof import Taken, all_taken, evidence_in, proven
from react_mem.memory.reflect.tasks.reading import Plan, continues, parse
from react_mem.memory.reflect.tasks.resuming import asks_to_go_on, meant
from react_mem.memory.reflect.tasks.task_graph import MAX_STEPS, Step, TaskGraph, merge, woven
from react_mem.memory.reflect.tasks.task_lines import context_of
from react_mem.memory.reflect.tasks.task_store import KeptTask, TaskKeeper

__all__ = [
    "MAX_STEPS",
    "SAID",
    "KeptTask",
    "Plan",
    "Step",
    "Taken",
    "TaskGraph",
    "TaskKeeper",
    "all_taken",
    "asks_to_go_on",
    "context_of",
    "continues",
    "evidence_in",
    "meant",
    "merge",
    "observed",
    "parse",
    "plan_of",
    "proven",
    "woven",
]
