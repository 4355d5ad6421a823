"""Tasks of several steps: planned by a small model, checked, kept, and shown to the agent in a few lines."""

from memory.tasks.asking import Planner
from memory.tasks.context import context_of
from memory.tasks.cues import asks_to_go_on, meant
from memory.tasks.graph import MAX_STEPS, Step, TaskGraph, merge, woven
from memory.tasks.keeping import KeptTask, TaskKeeper
from memory.tasks.progress import observed
from memory.tasks.reading import Plan, Refusal, parse

__all__ = [
    "MAX_STEPS",
    "KeptTask",
    "Plan",
    "Planner",
    "Refusal",
    "Step",
    "TaskGraph",
    "TaskKeeper",
    "asks_to_go_on",
    "context_of",
    "meant",
    "merge",
    "observed",
    "parse",
    "woven",
]
