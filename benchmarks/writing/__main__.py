"""`python -m benchmarks.writing [--json OUT] [--check [FILE ...]] [--explain] [--only NAME] ...`; see `--help`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from benchmarks.progress import interruptible
from benchmarks.report import add_json_option
from benchmarks.writing.case import Manner, choose, load_cases
from benchmarks.writing.check import check_files


@interruptible
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, or check its cases.

    Args:
        arguments: Those of the command line by default.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writing", description=__doc__)
    add_json_option(parser)
    parser.add_argument("--check", nargs="*", type=Path, metavar="FILE", help="only check these files of cases, or all")
    parser.add_argument("--explain", action="store_true", help="list what failed, with the turns and the facts")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases by id, part of it, kind, ...")
    parser.add_argument("--cases", type=int, metavar="N", help="N cases only, spread over kinds and languages")
    parser.add_argument(
        "--answers",
        nargs="+",
        choices=get_args(Manner),
        default=get_args(Manner),
        help="how the script's model answers",
    )
    parser.add_argument("--engine", choices=("structured", "langmem"), default="structured")
    parser.add_argument("--store", choices=("postgres", "memory"), default="postgres")
    parser.add_argument("--no-peer", action="store_true", help="leave the peers out")
    parser.add_argument(
        "--model", metavar="SPEC", help="a real model draws the facts instead of the script, such as openai:NAME"
    )
    options = parser.parse_args(arguments)
    if options.check is not None:
        problems = check_files(options.check)
        print("\n".join([*problems, f"{len(problems)} problems"]))
        sys.exit(bool(problems))
    # a check needs neither agents nor models
    from benchmarks.writing.compare import compare

    asyncio.run(compare(options, choose(load_cases(), options.only, options.cases)))


if __name__ == "__main__":
    main()
