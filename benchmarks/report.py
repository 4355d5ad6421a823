"""Report of a benchmark as one JSON file: its metrics, its peers' and the machine they were measured on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

_PACKAGES = ("langchain-core", "langgraph", "langgraph-checkpoint-postgres", "langmem")

Metrics = Mapping[str, float]


def environment() -> dict[str, Any]:
    """Return what a measurement depends on: the machine, Python and the packages."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        **{name: version(name) for name in _PACKAGES},
    }


def write_json(path: Path, metrics: Metrics, peers: Mapping[str, Metrics], environment: Mapping[str, Any]) -> None:
    """Write a benchmark's result.

    Args:
        path: The file; folders that do not exist are made.
        metrics: Ours, by name.
        peers: Theirs, by peer and by the same names.
        environment: What `environment` returned, and what the benchmark was told.
    """
    result = {"metrics": dict(metrics), "peers": {k: dict(v) for k, v in peers.items()}, "environment": environment}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def print_table(title: str, columns: Sequence[str], rows: Mapping[str, Metrics]) -> None:
    """Print one row for each thing that was measured.

    Args:
        title: What the table shows.
        columns: Which of the metrics, in order.
        rows: The metrics, by what was measured; one that a row does not have is left empty.
    """
    table = Table(
        Column("", no_wrap=True),
        *(Column(column.replace("_", " "), justify="right") for column in columns),
        title=title,
    )
    for name, metrics in rows.items():
        table.add_row(name, *(_readable(column, metrics.get(column)) for column in columns))
    Console().print(table)


def _readable(metric: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / 1e6:,.2f} MB" if metric.endswith("_bytes") else f"{value:,}"
