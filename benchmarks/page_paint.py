"""Time until a user sees something on the page of memories, and frames while its graph is moved.

    python -m benchmarks.page_paint --json results/page_paint.json [--memories 10 10000] [--visits 20]

A browser without a window (Chromium, software drawing) visits the page of users with so many memories, which are on the
embedded PostgreSQL; a new browser context each time, with nothing in its cache, in turn for all sizes. `first_paint_ms`
is the browser's own first contentful paint; `list_ms` is when the first memory stands on the page. Both count from the
start of the navigation. `pan_frames_a_second` is how often the graph, of which the newest 2,000 memories are drawn, is
drawn anew while it is moved for two seconds; the browser draws at most 60 times.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from langgraph.store.base import BaseStore
from playwright.sync_api import Browser, Page

from benchmarks.filling import fill, in_bulk
from benchmarks.locomo.metrics import percentile
from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.store.embedded import embedded_database
from react_mem.memory.store.postgres import MemoryStore
from tests.support.browser import opened_browser
from tests.support.page_server import PageServer, page_server

SIZES = (10, 10_000)

_PAINT = """new Promise(painted => new PerformanceObserver(entries => {
    const first = entries.getEntriesByName("first-contentful-paint")[0];
    if (first) painted(first.startTime);
}).observe({ type: "paint", buffered: true }))"""
_LIST = """new Promise(seen => {
    const look = () => document.querySelector("article.card") ? seen(performance.now()) : requestAnimationFrame(look);
    look();
})"""
_PAN = """new Promise(done => {
    const canvas = document.querySelector("canvas"), drawn = () => Number(canvas.dataset.frames);
    const began = performance.now(), before = drawn();
    const next = () => {
        view.drawing.move(2, 1);
        const passed = performance.now() - began;
        if (passed < 2000) requestAnimationFrame(next); else done((drawn() - before) * 1000 / passed);
    };
    requestAnimationFrame(next);
})"""

Metrics = dict[str, float]


def measure(server: PageServer, browser: Browser, sizes: Sequence[int], visits: int) -> dict[str, Metrics]:
    """Return what visits took, by the number of memories.

    Args:
        server: The server, on which each user is named after the number of their memories.
        browser: The browser.
        sizes: Memories of each user.
        visits: Visits of each.
    """
    paints: dict[int, list[float]] = {size: [] for size in sizes}
    lists: dict[int, list[float]] = {size: [] for size in sizes}
    # the first round is not counted: it has the server's own caches made
    for number in counted(range(visits + 1), "Visiting", "rounds"):
        for size in sizes:
            page = _opened(server, browser, size, "memories")
            at = page.evaluate(_LIST)
            if number:
                lists[size].append(at)
                paints[size].append(page.evaluate(_PAINT))
            page.context.close()
    return {
        str(size): {
            "first_paint_ms": round(percentile(paints[size], 50), 1),
            "first_paint_p95_ms": round(percentile(paints[size], 95), 1),
            "list_ms": round(percentile(lists[size], 50), 1),
            "list_p95_ms": round(percentile(lists[size], 95), 1),
            "pan_frames_a_second": round(_frames(server, browser, size), 1),
        }
        for size in sizes
    }


def _opened(server: PageServer, browser: Browser, size: int, section: str) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    # the first script of a page runs in about:blank too, which has no storage
    context.add_init_script(f"if (origin !== 'null') sessionStorage.setItem('react-mem.token', 'user{size}')")
    page = context.new_page()
    page.goto(f"{server.url}/memory/ui#/{section}", wait_until="commit")
    return page


def _frames(server: PageServer, browser: Browser, size: int) -> float:
    page = _opened(server, browser, size, "graph")
    page.locator("canvas[data-settled]").wait_for(timeout=60_000)
    frames: float = page.evaluate(_PAN)
    page.context.close()
    return frames


def run(sizes: Sequence[int], visits: int) -> dict[str, Metrics]:
    """Return what visits took on a server of their own.

    Args:
        sizes: Memories of each user.
        visits: Visits of each.
    """
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        database = embedded_database(Path(folder) / "postgres")
        url = runner.run(database.__aenter__())
        try:
            with page_server(url) as server:
                server.run(lambda store: _fill(store, sizes))
                with opened_browser() as browser:
                    return measure(server, browser, sizes, visits)
        finally:
            runner.run(database.__aexit__(None, None, None))


async def _fill(store: BaseStore, sizes: Sequence[int]) -> None:
    assert isinstance(store, MemoryStore)
    async with in_bulk(store.pool):
        for size in sizes:
            await fill(MemoryFacade(store), f"user{size}", size)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write a file.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page_paint", description="Time until a user sees something on the page of memories."
    )
    add_json_option(parser)
    parser.add_argument("--memories", type=int, nargs="+", default=SIZES, help="memories of a user")
    parser.add_argument("--visits", type=int, default=20, help="visits of each user")
    arguments = parser.parse_args(argv)
    rows = run(arguments.memories, arguments.visits)
    print_table("The page of memories", list(next(iter(rows.values()))), rows)
    metrics = {f"{name}.{size}": value for size, row in rows.items() for name, value in row.items()}
    write_json(arguments.json, metrics, {}, {"visits": arguments.visits})


if __name__ == "__main__":
    main()
