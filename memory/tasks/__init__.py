"""Tasks of several steps: planned by a small model, checked, kept, and shown to the agent in a few lines."""

from memory.tasks.asking import SAID, Planner
from memory.tasks.context import context_of
from memory.tasks.cues import asks_to_go_on, meant
from memory.tasks.graph import MAX_STEPS, Step, TaskGraph, merge, woven
from memory.tasks.keeping import KeptTask, TaskKeeper
from memory.tasks.progress import observed
from memory.tasks.proof import Taken, all_taken, evidence_in, proven
from memory.tasks.reading import Plan, Refusal, continues, parse

__all__ = [
    "MAX_STEPS",
    "SAID",
    "KeptTask",
    "Plan",
    "Planner",
    "Refusal",
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
    "proven",
    "woven",
]
