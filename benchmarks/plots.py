"""Charts of what was measured, in one style: ours stands out, and a system has the same colour wherever it appears."""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import how_to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "react_mem"
FORMATS = ("svg", "png")
_COLOURS = {
    OURS: "#0072b2",
    "bm25": "#d55e00",
    "dense": "#009e73",
    "in_memory_store": "#cc79a7",
    "postgres_store": "#e69f00",
    "langmem_tool": "#56b4e9",
    "mem0": "#8c564b",
    "create_agent": "#e69f00",
    "react": "#009e73",
}
"""Okabe and Ito's palette, which the colour-blind can tell apart too; two systems share one if no chart has both."""
_OTHERS = ("#999999", "#bcbd22", "#d55e00", "#cc79a7", "#56b4e9", "#8c564b")

Rows = Mapping[str, Mapping[str, float]]


def add_plots_option(parser: argparse.ArgumentParser) -> None:
    """Add `--save-plots`.

    Args:
        parser: The benchmark's command line.
    """
    parser.add_argument(
        "--save-plots", type=Path, metavar="FOLDER", help="draw charts of what --json names into this folder"
    )


def check_plots(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End with a sentence where charts cannot be drawn, before anything is measured for them.

    Args:
        parser: The benchmark's command line.
        arguments: What it was told.
    """
    if not arguments.save_plots:
        return
    if arguments.json is None:
        parser.error("--save-plots: charts are drawn from the file that --json names; name one")
    if importlib.util.find_spec("matplotlib") is None:
        parser.error(f"--save-plots: charts need matplotlib. {how_to_install('bench')}")


def read_rows(result: Path) -> dict[str, dict[str, float]]:
    """Return the metrics of a benchmark's JSON by system, ours first.

    Args:
        result: What `benchmarks.report.write_json` wrote.
    """
    content = json.loads(result.read_text(encoding="utf-8"))
    return {OURS: content["metrics"], **content["peers"]}


def bars(
    rows: Rows,
    metrics: Mapping[str, str],
    *,
    title: str,
    ylabel: str,
    to: Path,
    percent: bool = False,
) -> list[Path]:
    """Draw a group of bars for each metric, a bar for each system.

    Args:
        rows: Metrics by system; a system without a metric has no bar there.
        metrics: What stands below a group of bars, by metric.
        title: Of the chart.
        ylabel: Of the vertical axis.
        to: The file, without its ending; one is written for each of `FORMATS`.
        percent: Whether the metrics are shares, shown in per cent.

    Returns:
        The files.
    """
    scale = 100 if percent else 1
    # wide enough that a bar's number stands above it without touching the next
    figure = _figure(width=max(7.0, 0.3 * len(rows) * len(metrics) + 1.5))
    axes = figure.subplots()
    width = 0.84 / len(rows)
    for number, (system, colour) in enumerate(colours(rows).items()):
        shown = [(place, rows[system][metric]) for place, metric in enumerate(metrics) if metric in rows[system]]
        drawn = axes.bar(
            [place + (number - (len(rows) - 1) / 2) * width for place, _ in shown],
            [scale * value for _, value in shown],
            width=0.92 * width,
            color=colour,
            label=_label(system),
        )
        axes.bar_label(drawn, fmt="%.0f" if percent else "%.3g", fontsize=7, padding=2)
    axes.set_xticks(range(len(metrics)), list(metrics.values()))
    axes.tick_params(axis="x", length=0)
    if percent:
        axes.set_ylim(0, 100)
    return _finish(figure, axes, title=title, ylabel=ylabel, to=to)


def lines(
    rows: Mapping[str, Mapping[float, float]],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    to: Path,
    log_x: bool = False,
    log_y: bool = False,
) -> list[Path]:
    """Draw a line for each system.

    Args:
        rows: Points by system.
        title: Of the chart.
        xlabel: Of the horizontal axis.
        ylabel: Of the vertical axis.
        to: The file, without its ending; one is written for each of `FORMATS`.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is.

    Returns:
        The files.
    """
    figure = _figure(width=7.0)
    axes = figure.subplots()
    for system, colour in colours(rows).items():
        points = sorted(rows[system].items())
        style: dict[str, Any] = {"linewidth": 2.4, "zorder": 3} if system == OURS else {"linewidth": 1.4}
        axes.plot([x for x, _ in points], [y for _, y in points], "o-", color=colour, label=_label(system), **style)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(xlabel)
    return _finish(figure, axes, title=title, ylabel=ylabel, to=to)


def colours(systems: Iterable[str]) -> dict[str, str]:
    """Return a colour for each system, the same in every chart; one that is not known takes a colour that is left.

    >>> colours(["react_mem", "bm25"])["bm25"] == colours(["mem0", "bm25"])["bm25"]
    True
    """
    systems = list(systems)
    taken = {_COLOURS[system] for system in systems if system in _COLOURS}
    left = cycle(colour for colour in _OTHERS if colour not in taken)
    return {system: _COLOURS.get(system) or next(left) for system in systems}


def _label(system: str) -> str:
    return system if system == OURS else system.replace("_", " ")


def _figure(width: float) -> Figure:
    from matplotlib.figure import Figure  # no pyplot: nothing is shown, and no window system is asked for

    return Figure(figsize=(width, 4.2), layout="constrained")


def _finish(figure: Figure, axes: Any, *, title: str, ylabel: str, to: Path) -> list[Path]:
    from matplotlib import rc_context

    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=16)
    axes.set_ylabel(ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    to.parent.mkdir(parents=True, exist_ok=True)
    files = [to.with_name(f"{to.name}.{ending}") for ending in FORMATS]
    # without a date and with ids that do not change, the same numbers give the same bytes
    with rc_context({"svg.hashsalt": to.name}):
        for file in files:
            figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files
