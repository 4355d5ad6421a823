"""Environments for programs that are not to have, or cannot have, what this one holds: Python with packages, Node.js.

They are made from the package index that uv and npm are set to. What cannot be made skips the test, and says why.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

NODE = shutil.which("node")


def node_version() -> tuple[int, ...]:
    """Return the version of Node.js, such as (20, 20, 2); none where it is not installed."""
    if NODE is None:
        return ()
    told = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in told.strip().removeprefix("v").split("."))


def python_with(folder: Path, packages: Sequence[str], needed_by: str) -> Path:
    """Make an environment of Python in a folder; return its Python."""
    python = folder / "venv/bin/python"
    _make(folder, ["uv", "venv", "--quiet", "venv"], needed_by)
    _make(folder, ["uv", "pip", "install", "--quiet", "--python", str(python), *packages], needed_by)
    return python


def npm(folder: Path, command: Sequence[str], needed_by: str) -> None:
    """Install packages for Node.js into a folder."""
    _make(folder, ["npm", *command, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"], needed_by)


def _make(folder: Path, command: Sequence[str], needed_by: str) -> None:
    tool = shutil.which(command[0])
    if tool is None:
        pytest.skip(f"{command[0]} is not installed, which installs what {needed_by} needs")
    done = subprocess.run([tool, *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no cause told"])[-1][:200]
        pytest.skip(f"what {needed_by} needs cannot be installed here: {said}")
