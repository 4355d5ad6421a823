"""`react-mem stats`: what memory holds, how the database and the models are, how a running server does."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage
from rich.console import Console
from rich.table import Table
from rich.text import Text

from react_mem.agents.config import AgentConfig
from react_mem.agents.model_errors import explain_model_error
from react_mem.agents.models import load_chat_model, resolve_chat_spec
from react_mem.agents.terminal.column import printable
from react_mem.agents.terminal.output import print_json
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import Statistics, connected, limited, load_embedding_model, statistics

if TYPE_CHECKING:
    from react_mem.agents.terminal.scrape import Latency, Series, ServerMetrics

_CHECK_TIMEOUT = 30.0
"""Seconds for a model to say a word: one that takes longer does not serve a conversation."""


def run_stats(arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Console) -> int:
    """Carry out the subcommand.

    Args:
        arguments: As `command_line` read them.
        config: The agent, whose models `--check` asks.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code: 1 if a model that was asked does not answer.

    Raises:
        ExtraMissing: If what reads metrics is not installed.
        MemoryCommandError: If the server's metrics cannot be read.
        StorageError: If the database cannot be opened.
    """
    if arguments.url:
        # here, since not everybody has it
        from react_mem.agents.terminal.scrape import scrape

        metrics = scrape(arguments.url, dict(arguments.header))
        if arguments.json:
            print_json(console, dataclasses.asdict(metrics))
        else:
            _draw_metrics(console, metrics)
        return 0
    return asyncio.run(_run(arguments, config, settings, console))


async def _run(arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Console) -> int:
    async with connected(settings) as conn:
        found = await statistics(conn, arguments.user)
    checks = await _checks(config, settings, found) if arguments.check else []
    if arguments.json:
        print_json(console, {**dataclasses.asdict(found), "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        _draw_statistics(console, found, arguments.user)
        _draw_checks(console, checks)
    return 0 if all(check.ok for check in checks) else 1


@dataclasses.dataclass(frozen=True)
class Probe:
    """Reachability of a model.

    Args:
        what: Which one.
        name: What it is called.
        ok: Whether it does.
        seconds: How long it took, loading included.
        problem: Why it does not.
    """

    what: str
    name: str
    ok: bool
    seconds: float
    problem: str = ""


async def _checks(config: AgentConfig, settings: StorageSettings, found: Statistics) -> list[Probe]:
    embedder = settings.embedding
    if embedder == "auto" and found.embedding and found.embedding.name:
        embedder = found.embedding.name
    spec = resolve_chat_spec(config.models.chat)

    async def embed() -> None:
        model = await asyncio.to_thread(load_embedding_model, embedder)
        await model.embeddings.aembed_query("hello")

    async def answer() -> None:
        model = await asyncio.to_thread(load_chat_model, spec)
        said = await limited(model, 10).ainvoke("Say OK.")
        if not isinstance(said, AIMessage):
            raise TypeError(f"it answered with {type(said).__name__}")

    return [
        await _check("embedder", embedder, embed, str),
        await _check("chat model", spec, answer, lambda error: explain_model_error(error, spec).message),
    ]


async def _check(
    what: str, name: str, ask: Callable[[], Awaitable[None]], explain: Callable[[Exception], str]
) -> Probe:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT):
            await ask()
    except TimeoutError:
        return Probe(what, name, False, time.perf_counter() - started, f"no answer in {_CHECK_TIMEOUT:.0f} seconds")
    except Exception as error:  # whatever a provider's client raises
        return Probe(what, name, False, time.perf_counter() - started, explain(error))
    return Probe(what, name, True, time.perf_counter() - started)


def _draw_statistics(console: Console, found: Statistics, user: str | None) -> None:
    server, waiting = found.server, found.waiting
    if user is None:
        whose = f"{found.owners} {'user' if found.owners == 1 else 'users'}"
        if found.threads is not None:
            whose += f", {found.threads} threads"
    else:
        whose = user if found.owners else f"{user}, of whom nothing is remembered"
    database = (
        f"PostgreSQL {server.version.split()[0]}, pgvector {server.pgvector or 'missing'}, "
        f"{server.connections} of {server.limit} connections, {_seconds(server.seconds)} a round trip"
    )
    embedding = "none yet"
    if found.embedding is not None:
        embedding = f"{found.embedding.name or 'an unrecorded model'}, {found.embedding.dims} dimensions"
    lines = [
        ("memory of", whose),
        ("database", database),
        ("embedder", embedding),
        ("indexed", f"{found.vectors} texts, {_size(found.vector_bytes)} of vectors"),
        ("to be read", _waiting_line(waiting.waiting, waiting.failed, waiting.parked, waiting.oldest)),
    ]
    if found.disk:
        parts = ", ".join(f"{what} {_size(size)}" for what, size in found.disk.items())
        lines.append(("on disk", f"{_size(server.bytes)}: {parts}"))
    _draw_lines(console, lines)
    if found.holdings:
        console.print()
        rows = [
            (one.scope, one.kind, str(one.count), _size(one.bytes), f"{one.latest:%Y-%m-%d %H:%M}")
            for one in found.holdings
        ]
        _draw_table(console, ("scope", "kind", "records", "size", "last written"), rows, right=(2, 3))


def _waiting_line(waiting: int, failed: int, parked: int, oldest: datetime | None) -> str:
    if not waiting:
        return "nothing waits"
    since = f", the first for {_duration((datetime.now(UTC) - oldest).total_seconds())}" if oldest else ""
    return f"{waiting} turns wait{since}; {failed} were tried in vain, {parked} of them for good"


def _draw_checks(console: Console, checks: Sequence[Probe]) -> None:
    if checks:
        console.print()
    for check in checks:
        verdict = f"answers in {_seconds(check.seconds)}" if check.ok else check.problem
        line = Text(f"{check.what} {check.name}: ", style="dim")
        line.append(" ".join(printable(verdict).split()), style="green" if check.ok else "red")
        console.print(line, soft_wrap=True)


def _draw_metrics(console: Console, metrics: ServerMetrics) -> None:
    if not metrics.latencies and not metrics.series:
        console.print(Text("the server has measured nothing yet", style="dim"))
        return
    if metrics.uptime is not None:
        _draw_lines(console, [("counting", f"for {_duration(metrics.uptime)}")])
        console.print()
    rows = [_latency_row(latency) for latency in metrics.latencies]
    if rows:
        columns = ("operation", "count", "a minute", "failed", "mean", "p50", "p95")
        _draw_table(console, columns, rows, right=(1, 2, 3, 4, 5, 6))
        console.print()
    rows = [_series_row(series) for series in metrics.series]
    if rows:
        _draw_table(console, ("metric", "value"), rows, right=(1,))


def _latency_row(latency: Latency) -> tuple[str, ...]:
    rate = "" if latency.per_minute is None else f"{latency.per_minute:.2f}"
    times = (_seconds(value) for value in (latency.mean, latency.p50, latency.p95))
    return (_called(latency.operation, latency.labels), str(latency.count), rate, str(latency.failed), *times)


def _series_row(series: Series) -> tuple[str, str]:
    value = f"{series.value:.6g}"
    return (_called(series.name, series.labels), value if series.count is None else f"mean {value} of {series.count}")


def _called(name: str, labels: Mapping[str, str]) -> str:
    return " ".join([name, *labels.values()])


def _draw_lines(console: Console, lines: Iterable[tuple[str, str]]) -> None:
    for label, text in lines:
        line = Text(label.ljust(12), style="dim")
        line.append(" ".join(printable(text).split()), style="default")
        console.print(line, soft_wrap=True)


def _draw_table(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> None:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def _size(count: float) -> str:
    """Return a number of bytes as people read it.

    >>> _size(512), _size(2048), _size(5_000_000)
    ('512 B', '2.0 KiB', '4.8 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _seconds(value: float) -> str:
    """Return a time as people read it.

    >>> _seconds(0.0042), _seconds(2.5)
    ('4.2 ms', '2.50 s')
    """
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"


def _duration(seconds: float) -> str:
    """Return how long something has lasted.

    >>> _duration(42), _duration(3600 * 5), _duration(86400 * 3)
    ('42 seconds', '5 hours', '3 days')
    """
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
