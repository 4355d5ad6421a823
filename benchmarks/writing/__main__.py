"""`python -m benchmarks.writing [--json OUT] [--check FILE ...] [--explain] [--only NAME] ...`; see `--help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.writing.check import check_files


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, or check its cases.

    Args:
        arguments: Those of the command line by default.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writing", description=__doc__)
    parser.add_argument("--check", nargs="*", type=Path, metavar="FILE", help="check these files of cases, or all")
    options = parser.parse_args(arguments)
    if options.check is not None:
        problems = check_files(options.check)
        print("\n".join([*problems, f"{len(problems)} problems"]))
        sys.exit(bool(problems))


if __name__ == "__main__":
    main()
