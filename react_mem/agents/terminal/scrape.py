"""A running server's metrics, read from its Prometheus endpoint and worked out: rates, latencies, tokens, health."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from react_mem.errors import MemoryCommandError
from react_mem.installation import of_extra
from react_mem.memory.telemetry import OPERATIONS, PREFIX

with of_extra("server"):
    from prometheus_client import Metric
    from prometheus_client.parser import text_string_to_metric_families

PATH = "/memory/metrics"
_TIMEOUT = 10.0
_MAX_BYTES = 20_000_000
"""No endpoint of ours comes near it; something else that answers under the same address may."""
_PREFIX = PREFIX.replace(".", "_")
_MINUTE = 60.0

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Latency:
    """Count and durations of one operation.

    Args:
        operation: The operation.
        labels: What it was done with, such as the model.
        count: How often.
        per_minute: How often a minute since the server began to count; None where it does not say.
        failed: How many of them failed.
        mean: Seconds on average.
        p50: Seconds that half of them took at most, as the histogram tells it.
        p95: Seconds that 95 of 100 took at most.
    """

    operation: str
    labels: dict[str, str]
    count: int
    per_minute: float | None
    failed: int
    mean: float
    p50: float
    p95: float


@dataclass(frozen=True)
class Series:
    """One number of the server.

    Args:
        name: What it counts.
        labels: By what.
        value: The number: of a histogram its mean.
        count: Of a histogram, how many values it is the mean of.
    """

    name: str
    labels: dict[str, str]
    value: float
    count: int | None = None


@dataclass(frozen=True)
class ServerMetrics:
    """Metrics of a server since it started.

    Args:
        uptime: Seconds since it began to count; None where it does not say.
        latencies: The operations.
        series: Everything else.
    """

    uptime: float | None
    latencies: list[Latency]
    series: list[Series]


@dataclass
class _Histogram:
    buckets: dict[float, float] = field(default_factory=lambda: defaultdict(float))
    count: float = 0.0
    total: float = 0.0

    def quantile(self, share: float) -> float:
        """Return the value below which a share lies, taken as evenly spread within a bucket."""
        wanted, below, lower = share * self.count, 0.0, 0.0
        for upper, reached in sorted(self.buckets.items()):
            if reached >= wanted and reached > below:
                if upper == float("inf"):
                    return lower
                return lower + (upper - lower) * (wanted - below) / (reached - below)
            lower, below = upper, reached
        return lower


def scrape(url: str, headers: Mapping[str, str]) -> ServerMetrics:
    """Read a server's metrics. Blocks.

    Args:
        url: The server, such as `http://localhost:2024`, or the whole address of its metrics.
        headers: What to send along, such as an authorization.

    Raises:
        MemoryCommandError: If there is no such server, or it does not answer with metrics.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise MemoryCommandError(f"{url} is not the address of a server; it looks like http://localhost:2024")
    address = url.rstrip("/") + PATH if parts.path in ("", "/") else url
    request = urllib.request.Request(address, headers=dict(headers))  # noqa: S310 - http and https alone
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310 - as above
            text = response.read(_MAX_BYTES).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        hint = {
            401: "; send --header 'Authorization: Bearer TOKEN'",
            403: "; send --header 'Authorization: Bearer TOKEN'",
            404: "; is this a react-mem server? langgraph.json names its routes in http.app",
        }
        raise MemoryCommandError(f"{address} answers {error.code} {error.reason}{hint.get(error.code, '')}") from error
    except (OSError, ValueError) as error:
        cause = getattr(error, "reason", error)
        raise MemoryCommandError(f"{address} cannot be reached: {cause}. Does the server run?") from error
    try:
        return work_out(text_string_to_metric_families(text), now=time.time())
    except ValueError as error:
        raise MemoryCommandError(f"{address} does not answer with Prometheus metrics") from error


def work_out(families: Iterable[Metric], *, now: float) -> ServerMetrics:
    """Return what a server's metrics say.

    Args:
        families: Its metrics; those that are not ours are passed over.
        now: The time, as Unix counts it.
    """
    ours = [family for family in families if family.name.startswith(_PREFIX)]
    started = next((s.value for f in ours if f.name == f"{_PREFIX}start_time_seconds" for s in f.samples), None)
    uptime = None if started is None else max(now - started, 1.0)
    operations = {f"{_PREFIX}{operation.name}_duration_seconds": operation.name for operation in OPERATIONS}
    latencies: list[Latency] = []
    series: list[Series] = []
    for family in ours:
        name = family.name.removeprefix(_PREFIX)
        if family.name in operations:
            latencies += _latencies(operations[family.name], family, uptime)
        elif family.type == "histogram":
            for labels, histogram in _histograms(family, ()).items():
                if histogram.count:
                    mean = histogram.total / histogram.count
                    series.append(Series(name, dict(labels), mean, int(histogram.count)))
        elif name != "start_time_seconds":
            series += [Series(name, _told(sample.labels), sample.value) for sample in family.samples]
    return ServerMetrics(uptime, latencies, series)


def _latencies(operation: str, family: Metric, uptime: float | None) -> Iterator[Latency]:
    failures: dict[Labels, int] = defaultdict(int)
    for labels, histogram in _histograms(family, ()).items():
        told = dict(labels)
        if told.pop("error_type", ""):
            failures[tuple(sorted(told.items()))] += int(histogram.count)
    for labels, histogram in _histograms(family, ("error_type",)).items():
        if histogram.count:
            yield Latency(
                operation=operation,
                labels=dict(labels),
                count=int(histogram.count),
                per_minute=None if uptime is None else histogram.count * _MINUTE / uptime,
                failed=failures[labels],
                mean=histogram.total / histogram.count,
                p50=histogram.quantile(0.5),
                p95=histogram.quantile(0.95),
            )


def _histograms(family: Metric, without: tuple[str, ...]) -> dict[Labels, _Histogram]:
    """Return the histograms of a family by their labels, added up over those to go without."""
    found: dict[Labels, _Histogram] = defaultdict(_Histogram)
    for sample in family.samples:
        labels = _told(sample.labels)
        end = labels.pop("le", None)
        histogram = found[tuple(sorted((name, value) for name, value in labels.items() if name not in without))]
        if sample.name.endswith("_bucket") and end is not None:
            histogram.buckets[float(end)] += sample.value
        elif sample.name.endswith("_count"):
            histogram.count += sample.value
        elif sample.name.endswith("_sum"):
            histogram.total += sample.value
    return found


def _told(labels: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in labels.items() if value}
