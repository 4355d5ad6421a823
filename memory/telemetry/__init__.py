"""Telemetry: what happens, how long it takes, what it costs and how it fails - never what was said, nor by whom.

    telemetry.count("degradations", part="reranker")
    telemetry.record("read.results", 7)
    with telemetry.span("tool", tool="calculator"):
        ...

`catalogue` declares every name, its unit and its labels. It goes to the global OpenTelemetry providers, if the
deployment has set any, and to the Prometheus endpoint of the server.
"""

from react_mem.memory.telemetry.emit import count, listen, observe, record, span
from react_mem.memory.telemetry.models import ModelCall, model_call, model_name, names_of, turn_answered
from react_mem.memory.telemetry.pools import watch_pool

__all__ = [
    "ModelCall",
    "count",
    "listen",
    "model_call",
    "model_name",
    "names_of",
    "observe",
    "record",
    "span",
    "turn_answered",
    "watch_pool",
]
