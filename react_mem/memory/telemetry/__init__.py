"""Telemetry: counts, durations, costs and failures - never a text, nor a user.

    telemetry.count("degradations", part="reranker")
    telemetry.record("read.results", 7)
    with telemetry.span("tool", tool="calculator"):
        ...

`catalogue` declares every name, its unit and its labels. Everything goes to the global OpenTelemetry providers, if the
deployment has set any, and to the Prometheus endpoint of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.telemetry.emit import MeasuredCall as MeasuredCall
    from react_mem.memory.telemetry.emit import cost_of as cost_of
    from react_mem.memory.telemetry.emit import count as count
    from react_mem.memory.telemetry.emit import listen as listen
    from react_mem.memory.telemetry.emit import model_call as model_call
    from react_mem.memory.telemetry.emit import model_name as model_name
    from react_mem.memory.telemetry.emit import observe as observe
    from react_mem.memory.telemetry.emit import record as record
    from react_mem.memory.telemetry.emit import span as span
    from react_mem.memory.telemetry.emit import turn_answered as turn_answered
    from react_mem.memory.telemetry.emit import watch_pool as watch_pool
    from react_mem.memory.telemetry.prometheus import CONTENT_TYPE as CONTENT_TYPE
    from react_mem.memory.telemetry.prometheus import exposition as exposition
    from react_mem.memory.telemetry.prometheus import start_counting as start_counting
else:
    __getattr__, __dir__, __all__ = door(__name__)
