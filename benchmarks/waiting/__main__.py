"""Time that users wait for memory work: of earlier turns, of others, and of documents that are being embedded.

    python -m benchmarks.waiting --json results/waiting.json [--turns 20] [--extraction 12]

- The first token of `react_mem` on `langgraph dev` while the model takes 12 seconds to draw facts from each turn, over
  that of the same agent with `extraction: {mode: off}`, and LangChain's `create_agent` beside them; two users in turn,
  each system on a server of its own. What stalls the event loop of each server is measured meanwhile and while a pasted
  text of 150,000 characters from each user is drawn from.
- Questions of one user while a document of 20,000 characters of another's is being embedded by the local model.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.progress import interruptible
from benchmarks.report import add_json_option, print_table, write_json
from benchmarks.waiting import first_token, questions
from react_mem.memory.store.embedded import embedded_database

COLUMNS = ("first_token_p50_ms", "first_token_p95_ms", "loop_stall_ms_max", "loop_stalls_over_20ms", "degraded")

Metrics = dict[str, float]


async def measure(turns: int, seconds: float) -> tuple[dict[str, Metrics], Metrics]:
    """Return what the turns of each system came to, and what the questions did."""
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder) / "postgres") as url:
            asked = await questions.measure(url)
            return await first_token.measure(url, Path(folder), turns, seconds), asked


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.waiting", description=(__doc__ or "").partition("\n")[0]
    )
    add_json_option(parser)
    parser.add_argument("--turns", type=int, default=20, help="turns of two users in all (default: %(default)s)")
    parser.add_argument(
        "--extraction", type=float, default=12.0, help="seconds that drawing facts takes (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    systems, asked = asyncio.run(measure(arguments.turns, arguments.extraction))
    print_table(f"{arguments.turns} turns of two users", COLUMNS, systems)
    print_table("Questions while a document is embedded", tuple(asked), {"react_mem": asked})
    ours = systems["react_mem"]
    metrics: Metrics = {
        "first_token_over_off": first_token.ratio(systems, 50),
        "first_token_p95_over_off": first_token.ratio(systems, 95),
        **ours,
        **asked,
        "degraded_reads": asked["degraded_reads"] + ours["degraded"],
    }
    told: dict[str, Any] = {"turns": arguments.turns, "extraction_seconds": arguments.extraction}
    peers = {name: found for name, found in systems.items() if name != "react_mem"}
    write_json(arguments.json, metrics, peers, told)


if __name__ == "__main__":
    main()
