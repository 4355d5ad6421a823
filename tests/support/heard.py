"""What telemetry says, for a test to look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from react_mem.memory import telemetry
from react_mem.memory.telemetry.catalogue import INSTRUMENTS, OPERATIONS, Name


@dataclass(frozen=True)
class Heard:
    """What was measured while somebody listened."""

    reader: InMemoryMetricReader
    exporter: InMemorySpanExporter

    def points(self, name: str) -> dict[frozenset[tuple[str, Any]], Any]:
        """Return the points of an instrument by their labels; of a histogram its count and sum."""
        data = self.reader.get_metrics_data()
        found = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == f"react_mem.{name}":
                        for point in metric.data.data_points:
                            histogram = hasattr(point, "bucket_counts")
                            value = (point.count, point.sum) if histogram else point.value  # type: ignore[union-attr]
                            found[frozenset((point.attributes or {}).items())] = value
        return found

    def total(self, name: str, /, **labels: str) -> float:
        """Return the sum over the points that have these labels; of histograms the number of values."""
        wanted = {key.replace("error_type", "error.type"): value for key, value in labels.items()}
        found = [value for point, value in self.points(name).items() if wanted.items() <= dict(point).items()]
        return sum(value[0] if isinstance(value, tuple) else value for value in found)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended."""
        return list(self.exporter.get_finished_spans())

    def everything(self) -> str:
        """Return all of it as text."""
        data = self.reader.get_metrics_data()
        return (data.to_json() if data else "") + "".join(span.to_json() for span in self.spans)


@contextmanager
def hear() -> Iterator[Heard]:
    """Listen to telemetry."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    # a process names only so many models; those of the tests before this one are forgotten
    for part in (*INSTRUMENTS, *OPERATIONS):
        for label in part.labels:
            if isinstance(label, Name):
                label._known.clear()
    with telemetry.listen(MeterProvider([reader], shutdown_on_exit=False), tracers):
        yield Heard(reader, exporter)
