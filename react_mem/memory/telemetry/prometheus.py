"""Metrics of this process in Prometheus's text format.

It has a meter provider and a registry of its own: a LangGraph server keeps its own series in the global ones.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from functools import cache

from react_mem.installation import of_extra
from react_mem.memory.telemetry.emit import listen, record

with of_extra("server"):
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from opentelemetry.sdk.metrics import MeterProvider
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST

_listening = ExitStack()


@cache
def start_counting() -> CollectorRegistry:
    """Count from now on, if not begun already, and return the registry to read from."""
    registry = CollectorRegistry(auto_describe=False)
    reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=registry)
    _listening.enter_context(listen(MeterProvider([reader], shutdown_on_exit=False)))
    record("start_time", time.time())
    return registry


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format."""
    return generate_latest(start_counting())


def _begin_anew() -> None:
    # what the parent counted is the parent's to tell
    if start_counting.cache_info().currsize:
        _listening.close()
        start_counting.cache_clear()
        start_counting()


os.register_at_fork(after_in_child=_begin_anew)
