"""What every benchmark writes: its metrics, its peers' and the machine they were measured on, as one JSON file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
        path: The file.
        metrics: Ours, by name.
        peers: Theirs, by peer and by the same names.
        environment: What `environment` returned, and what the benchmark was told.
    """
    result = {"metrics": dict(metrics), "peers": {k: dict(v) for k, v in peers.items()}, "environment": environment}
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
