"""The charts of this benchmark, drawn from its result."""

from __future__ import annotations

from pathlib import Path

from benchmarks.locomo.metrics import by_group
from benchmarks.plots import OURS, bars, read_rows

METRIC = "recall@10"


def save_plots(result: Path, folder: Path) -> list[Path]:
    """Draw recall@10 by system, over all questions and by category.

    Args:
        result: The benchmark's JSON; the charts are named after it.
        folder: Where the charts go.

    Returns:
        The files.
    """
    rows = read_rows(result)
    groups = {METRIC: "all questions"}
    groups |= {f"{METRIC}.{group}": group.replace("_", " ") for group in by_group(rows[OURS], METRIC)}
    return bars(
        rows,
        groups,
        title=f"Evidence among the first 10 results: {result.stem}",
        ylabel="recall@10 (%)",
        to=folder / f"{result.stem}_recall_at_10",
        percent=True,
    )
