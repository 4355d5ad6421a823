"""Recording: counts, values and spans go to the global OpenTelemetry providers, and to listeners of this process.

Without a listener a call costs a microsecond or two, with the Prometheus endpoint some fifteen. Nothing here
raises: an undeclared name is dropped and logged, because the measured operation matters more than its measure.
"""

from __future__ import annotations

import logging
import math
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

from langgraph.errors import GraphBubbleUp
from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation
from opentelemetry.trace import ProxyTracerProvider, StatusCode, Tracer, TracerProvider
from opentelemetry.trace import Span as TraceSpan
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.telemetry.catalogue import INSTRUMENTS, OPERATIONS, PREFIX, Instrument, Metric

SCOPE = "react_mem"

Attributes = Mapping[str, str]
Observed = Iterable[tuple[float, Attributes]]
Emit = Callable[[float, Attributes], None]

log = logging.getLogger(__name__)
_ATTRIBUTES = {"error_type": "error.type"}  # Names of labels in OpenTelemetry's conventions


class _Recorder:
    """One instrument, with its listeners by their meters."""

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.listeners: dict[Meter, Emit] = {}
        self._labels = {label.name: label for label in instrument.labels}
        self._kept: dict[tuple[tuple[str, str], ...], float] = {}
        self.sources: list[Callable[[], Observed]] = []

    def emit(self, value: float, labels: Mapping[str, object]) -> None:
        try:
            attributes = self.attributes(labels)
            if not math.isfinite(value):
                raise ValueError(f"{value} is not a number")
            if self.instrument.kind is Metric.GAUGE:
                # kept, because what is set once would be told once
                self._kept[tuple(sorted(attributes.items()))] = value
            for listener in list(self.listeners.values()):
                listener(value, attributes)
        except Exception as error:  # whatever an exporter raises
            _refuse(f"{self.instrument.name}: {type(error).__name__}")

    def attributes(self, labels: Mapping[str, object]) -> Attributes:
        for name in labels.keys() - self._labels.keys():
            _refuse(f"{self.instrument.name} has no label {name!r}")
        known = ((name, label) for name, label in self._labels.items() if name in labels)
        return {_ATTRIBUTES.get(name, name): label.admit(labels[name]) for name, label in known}

    def create(self, meter: Meter) -> Emit:
        ours = self.instrument
        name, unit, description = PREFIX + ours.name, ours.unit, ours.description
        if ours.kind is Metric.COUNTER:
            return meter.create_counter(name, unit, description).add
        if ours.kind is Metric.HISTOGRAM:
            return meter.create_histogram(
                name, unit, description, explicit_bucket_boundaries_advisory=list(ours.buckets)
            ).record
        meter.create_observable_gauge(name, [self._observations], unit, description)
        return lambda value, attributes: None  # a gauge is asked, not told

    def _observations(self, _: CallbackOptions) -> Iterator[Observation]:
        totals = self._kept.copy()
        for source in list(self.sources):
            for value, labels in source():
                attributes = tuple(sorted(self.attributes(labels).items()))
                totals[attributes] = totals.get(attributes, 0) + value
        for attributes, total in totals.items():
            yield Observation(total, dict(attributes))


_RECORDERS = {instrument.name: _Recorder(instrument) for instrument in INSTRUMENTS}
_OPERATIONS = {operation.name: operation for operation in OPERATIONS}
_DURATIONS = {name: _RECORDERS[f"{name}.duration"] for name in _OPERATIONS}
_ERRORS = _RECORDERS["errors"]
_refused: set[str] = set()

_global_tracer = trace.get_tracer(SCOPE)
_own_tracers: list[Tracer] = []


@contextmanager
def listen(meters: MeterProvider | None = None, tracers: TracerProvider | None = None) -> Iterator[None]:
    """Send counts and values to `meters` too for the length of a context, and spans to `tracers` instead."""
    with ExitStack() as heard:
        if tracers is not None:
            _own_tracers.append(tracer := tracers.get_tracer(SCOPE))
            heard.callback(_own_tracers.remove, tracer)
        if meters is not None:
            meter = meters.get_meter(SCOPE)
            for recorder in _RECORDERS.values():
                recorder.listeners[meter] = recorder.create(meter)
                heard.callback(recorder.listeners.pop, meter)
        yield


def count(name: str, n: int | float = 1, /, **labels: str) -> None:
    """Add to a counter of the catalogue."""
    _emit(name, n, labels, Metric.COUNTER)


def record(name: str, value: float, /, **labels: str) -> None:
    """Record a value in a histogram of the catalogue, or set a gauge."""
    _emit(name, value, labels, Metric.HISTOGRAM, Metric.GAUGE)


def observe(name: str, source: Callable[[], Observed]) -> None:
    """Make a gauge ask for values and labels whenever it is read, without blocking; several sources add up."""
    _RECORDERS[name].sources.append(source)


def _emit(name: str, value: float, labels: Mapping[str, object], *kinds: Metric) -> None:
    recorder = _RECORDERS.get(name)
    if recorder is None or recorder.instrument.kind not in kinds:
        _refuse(f"there is no {' or '.join(kind.name.lower() for kind in kinds)} {name!r}")
        return
    recorder.emit(value, labels)


class span:  # noqa: N801 - reads as the function that it is used as
    """Measure an operation: its duration, its failure by class, and a trace span that knows its parent.

    An exception passes through; its class is recorded, never its text. An interrupt for a human's decision is no
    failure.

        with telemetry.span("web_engine", engine="searxng") as measured:
            found = await ask()
            measured.set(results=len(found))
    """

    __slots__ = ("_labels", "_name", "_numbers", "_started", "_trace", "_tracing")

    def __init__(self, name: str, /, **labels: str) -> None:
        self._name = name
        self._labels: dict[str, Any] = labels
        self._numbers: dict[str, int | float] = {}
        self._started = 0.0
        self._trace: TraceSpan | None = None
        self._tracing: AbstractContextManager[TraceSpan] | None = None

    def set(self, **told: str | int | float) -> None:
        """Add labels, or numbers for the trace span, that were unknown at the start."""
        operation = _OPERATIONS.get(self._name)
        for name, value in told.items():
            if operation is not None and name in operation.numbers:
                if isinstance(value, (int, float)):
                    self._numbers[name] = value
            else:
                self._labels[name] = value

    def failed(self, error: BaseException) -> None:
        """Note a failure that does not leave the operation as an exception."""
        self._labels["error_type"] = type(error).__name__

    def __enter__(self) -> Self:
        # without a tracer of ours, and without one of the deployment's, nothing is traced
        is_configured = not isinstance(trace.get_tracer_provider(), ProxyTracerProvider)
        tracer = _own_tracers[-1] if _own_tracers else _global_tracer if is_configured else None
        if tracer is not None:
            self._tracing = tracer.start_as_current_span(PREFIX + self._name)
            self._trace = self._tracing.__enter__()
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._started
        if error is not None and not isinstance(error, GraphBubbleUp):
            self.failed(error)
        duration = _DURATIONS.get(self._name)
        if duration is None:
            _refuse(f"there is no operation {self._name!r}")
        else:
            duration.emit(seconds, self._labels)
            if "error_type" in self._labels:
                _ERRORS.emit(1, {"operation": self._name, "error_type": self._labels["error_type"]})
            if self._trace is not None:
                self._trace.set_attributes({**duration.attributes(self._labels), **self._numbers})
                if "error_type" in self._labels:
                    self._trace.set_status(StatusCode.ERROR)
        if self._tracing is not None:
            # not told of the exception, which it would record with its text
            self._tracing.__exit__(None, None, None)


def _refuse(what: str) -> None:
    """Log once that something is not recorded; its name is code, not content."""
    if what not in _refused:
        _refused.add(what)
        log.error("not recorded: %s", what)


_global_meter = metrics.get_meter(SCOPE)
for _recorder in _RECORDERS.values():
    _recorder.listeners[_global_meter] = _recorder.create(_global_meter)


# The health of the connection pools of this process.

_pools: weakref.WeakSet[AsyncConnectionPool[Any]] = weakref.WeakSet()


def watch_pool(pool: AsyncConnectionPool[Any]) -> None:
    """Observe a pool's connections and waiting requests for as long as it is open."""
    _pools.add(pool)


def _stats() -> list[dict[str, int]]:
    return [pool.get_stats() for pool in list(_pools) if not pool.closed]


def _connections() -> Iterator[tuple[float, Attributes]]:
    for stats in _stats():
        idle = stats.get("pool_available", 0)
        yield idle, {"state": "idle"}
        yield stats.get("pool_size", 0) - idle, {"state": "used"}


def _failures() -> Iterator[tuple[float, Attributes]]:
    for stats in _stats():
        yield stats.get("requests_errors", 0), {"failure": "requests"}
        yield stats.get("connections_errors", 0), {"failure": "connections"}
        yield stats.get("connections_lost", 0) + stats.get("returns_bad", 0), {"failure": "lost"}


observe("pool.connections", _connections)
observe("pool.limit", lambda: ((stats.get("pool_max", 0), {}) for stats in _stats()))
observe("pool.waiting", lambda: ((stats.get("requests_waiting", 0), {}) for stats in _stats()))
observe("pool.failures", _failures)
observe(
    "pool.row_security", lambda: ((getattr(one, "has_row_security", 0), {}) for one in list(_pools) if not one.closed)
)
