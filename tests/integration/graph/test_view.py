"""The page that draws a graph, in a browser."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.records import Level
from react_mem.memory.retrieval.graph_reading import MemoryGraph, to_html
from tests.support.browser import browser_path
from tests.support.linking import record, store_records

HOSTILE = "</script><script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"


@pytest.fixture
async def page(tmp_path: Path) -> Path:
    store = InMemoryStore()
    for day in range(3):
        said = [
            record("message", f"{day}-{turn}", session=f"s{day}", minute=20 * day + turn, text=f"{HOSTILE} {turn}")
            for turn in range(4)
        ]
        facts = [record("fact", f"{day}-f{place}", said[place].id, text=HOSTILE) for place in range(3)]
        await store_records(store, *said, *facts)
        await store_records(store, record("summary", f"{day}-s", *(one.id for one in said)))
        await store_records(store, record("episode", f"{day}-e", said[0].id, minute=day, level=Level.MILESTONE))
    file = tmp_path / "graph.html"
    file.write_text(to_html(await MemoryGraph(store).whole("ann")), encoding="utf-8")
    return file


def test_the_page_draws_the_memories_runs_nothing_of_theirs_and_tells_what_is_pointed_at(page: Path) -> None:
    by_hand = """
        <script>
        const box = canvas.getBoundingClientRect(), place = nodes.findIndex(node => node.type === "episode");
        const clientX = box.left + drawing.view.x + drawing.view.zoom * nodes[place].x;
        const clientY = box.top + drawing.view.y + drawing.view.zoom * nodes[place].y;
        canvas.setPointerCapture = () => {};
        for (const kind of ["pointermove", "pointerdown", "pointerup"])
          canvas.dispatchEvent(new PointerEvent(kind, { clientX, clientY }));
        document.querySelectorAll("#types input")[0].click();
        </script>"""
    page.write_text(page.read_text(encoding="utf-8") + by_hand, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--window-size=640,480"]
    command = [browser_path(), *options, f"--user-data-dir={page.with_name('browser')}", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout
    assert 'data-drawn="' in shown
    assert "<title>Memories and their links</title>" in shown
    assert re.search(r"\d+ memories, \d+ links", shown)
    assert "<img" not in re.sub(r"(?s)<script>.*?</script>", "", shown)
    [hint] = re.findall(r'<div id="hint" style="display: block;[^"]*">(.*?)</div>', shown)
    assert hint.startswith("episode ")
    [about] = re.findall(r'(?s)<p id="about">(.*?)</p>', shown)
    # messages have been taken out of the picture, the summary of the same ones never was linked with it
    assert about.startswith("episode, 2026-03-01 ")
    assert "message: " not in about
    assert "was followed by episode" in about or "followed on episode" in about
