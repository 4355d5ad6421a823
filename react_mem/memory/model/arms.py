"""The arms of a search: the ways to find a memory."""

from __future__ import annotations

from enum import StrEnum


class Arm(StrEnum):
    """A way to find a memory. Each can be switched off, and says in every result what it contributed."""

    VECTOR = "vector"
    LEXICAL = "lexical"
    WINDOW = "window"
    SPEAKER = "speaker"
    TIME = "time"
    STANDING = "standing"
    HUB = "hub"
    GRAPH = "graph"


ALL_ARMS = frozenset(Arm) - {Arm.GRAPH}
"""The arms that answer together, in one round trip. The graph asks after them (`memory.retrieval.graph_arm`), which
costs one or two more, and has to be named by a policy: without a model that draws facts and episodes it finds no more
(measured on LoCoMo's conversations and `benchmarks/stress`: no category higher, with links between messages alone)."""
