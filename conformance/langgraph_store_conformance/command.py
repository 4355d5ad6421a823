"""Command `langgraph-store-conformance`: checks a store and prints the table of results."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from langgraph_store_conformance.capabilities import Capability


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the store that a factory opens.

    Args:
        arguments: Of the command line.

    Returns:
        0 if every check passed, 1 if one failed, 2 if the store could not be opened.
    """
    parser = argparse.ArgumentParser(
        prog="langgraph-store-conformance",
        description="Check that a LangGraph store keeps the contract of BaseStore.",
    )
    parser.add_argument("factory", help="module:attribute, a store or what opens one; seen from here")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=[each.value for each in Capability],
        help="what the store does not claim (may be repeated)",
    )
    parser.add_argument("--format", choices=("text", "markdown"), default="text", help="of the table")
    asked = parser.parse_args(arguments)
    sys.path.insert(0, os.getcwd())
    os.environ["STORE_CONFORMANCE_FACTORY"] = asked.factory
    os.environ["STORE_CONFORMANCE_CLAIMS"] = ",".join(each for each in Capability if each not in asked.without)

    from langgraph_store_conformance.given_store import open_given

    async def open_once() -> None:
        async with open_given(asked.factory):
            pass

    # each check would fail of it, and say so at length
    try:
        asyncio.run(open_once())
    except Exception as error:
        parser.exit(2, f"{asked.factory} opens no store: {type(error).__name__}: {error}\n")
    # No settings of the project that it is called from: they are meant for that project's own tests.
    options = ["-c", os.devnull, f"--rootdir={os.getcwd()}", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    plugin = ["-p", "langgraph_store_conformance.pytest_table", "--store-conformance-table", asked.format]
    suite = ["--tb=short", "--pyargs", "langgraph_store_conformance.given_store"]
    # a process of its own: in this one the checks are imported, and what they assert can no longer be explained
    command = [sys.executable, "-m", "pytest", *options, *plugin, *suite]
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own command
    return 0 if code == pytest.ExitCode.OK else 1 if code == pytest.ExitCode.TESTS_FAILED else 2
