"""Time that users wait for memory work: of earlier turns, of others, and of documents that are being embedded.

    python -m benchmarks.waiting --json results/waiting.json [--turns 20] [--extraction 12]

- The first token of `react_mem` on `langgraph dev` while the model takes 12 seconds to draw facts from each turn, over
  that of the same agent with `extraction: {mode: off}`, and LangChain's `create_agent` beside them; two users in turn,
  each system on a server of its own. What stalls the event loop of each server is measured meanwhile and while a pasted
  text of 150,000 characters from each user is drawn from.
- Questions of one user while a document of 20,000 characters of another's is being embedded by the local model.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.databases import database_server
from benchmarks.progress import interruptible
from benchmarks.report import Command, print_table, write_json
from benchmarks.waiting import first_token, questions

COLUMNS = ("first_token_p50_ms", "first_token_p95_ms", "loop_stall_ms_max", "loop_stalls_over_20ms", "degraded")

Metrics = dict[str, float]


async def measure(turns: int, seconds: float) -> tuple[dict[str, Metrics], Metrics]:
    """Return what the turns of each system came to, and what the questions did."""
    with tempfile.TemporaryDirectory() as folder:
        async with database_server() as url:
            asked = await questions.measure(url)
            return await first_token.measure(url, Path(folder), turns, seconds), asked


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    command = Command("waiting", __doc__)
    command.add_argument("--turns", type=int, default=20, help="turns of two users in all")
    command.add_argument("--extraction", type=float, default=12.0, help="seconds that drawing facts takes")
    told = command.parse_args(argv)
    systems, asked = asyncio.run(measure(told.turns, told.extraction))
    print_table(f"{told.turns} turns of two users", COLUMNS, systems)
    print_table("Questions while a document is embedded", tuple(asked), {"react_mem": asked})
    ours = systems.pop("react_mem")
    over = {
        f"first_token{name}_over_off": round(ours[f"first_token_{key}_ms"] / systems["off"][f"first_token_{key}_ms"], 3)
        for name, key in (("", "p50"), ("_p95", "p95"))
    }
    degraded = asked["degraded_reads"] + ours["degraded"]
    write_json(told.json, {**over, **ours, **asked, "degraded_reads": degraded}, systems, vars(told))


if __name__ == "__main__":
    main()
