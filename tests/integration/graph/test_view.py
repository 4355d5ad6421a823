"""The page that draws a graph, in a browser."""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.records import Level
from react_mem.memory.retrieval.graph_reading import MemoryGraph, to_html
from tests.support.browser import browser_path
from tests.support.linking import record, store_records

HOSTILE = "</script><script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"
MESSAGE, FACT = (0x4F, 0x8E, 0xF7), (0x2F, 0xA3, 0x6B)


@pytest.fixture
async def page(tmp_path: Path) -> Path:
    store = InMemoryStore()
    for day in range(6):
        said = [
            record("message", f"{day}-{turn}", session=f"s{day}", minute=20 * day + turn, text=f"{HOSTILE} {turn}")
            for turn in range(8)
        ]
        facts = [record("fact", f"{day}-f{place}", said[place].id, text=HOSTILE) for place in range(3)]
        await store_records(store, *said, *facts)
        await store_records(store, record("summary", f"{day}-s", *(one.id for one in said)))
        await store_records(store, record("episode", f"{day}-e", said[0].id, minute=day, level=Level.MILESTONE))
    file = tmp_path / "graph.html"
    file.write_text(to_html(await MemoryGraph(store).whole("ann")), encoding="utf-8")
    return file


def look(page: Path, *how: str) -> str:
    """Open a page in the browser, and return what has become of it."""
    profile = page.with_name("browser")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]
    size = [f"--user-data-dir={profile}", "--window-size=640,480", "--virtual-time-budget=5000"]
    command = [browser_path(), *options, *size, *how, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


def test_the_page_draws_the_memories_and_runs_nothing_of_theirs(page: Path) -> None:
    shown = look(page, "--dump-dom")
    assert 'data-drawn="78:' in shown
    assert "<title>Memories and their links</title>" in shown
    assert re.search(r"78 memories, \d+ links", shown)
    assert "onerror" not in re.sub(r"(?s)<script>.*</script>", "", shown)
    picture = page.with_name("graph.png")
    look(page, f"--screenshot={picture}")
    colors = pixels(picture.read_bytes())
    # nodes are discs: of each kind some hundred points
    assert colors.count(MESSAGE) > 100
    assert colors.count(FACT) > 50


def test_what_is_pointed_at_says_what_it_is_as_text(page: Path) -> None:
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
    touched = page.with_name("touched.html")
    touched.write_text(page.read_text(encoding="utf-8") + by_hand, encoding="utf-8")
    shown = look(touched, "--dump-dom")
    [hint] = re.findall(r'<div id="hint" style="display: block;[^"]*">(.*?)</div>', shown)
    assert hint.startswith("episode ")
    [about] = re.findall(r'(?s)<p id="about">(.*?)</p>', shown)
    # messages have been taken out of the picture, the summary of the same ones never was linked with it
    assert about.startswith("episode, 2026-03-01 ")
    assert "message: " not in about
    assert "was followed by episode" in about or "followed on episode" in about


def pixels(png: bytes) -> list[tuple[int, int, int]]:
    """Return the colours of a picture, point by point."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert (depth, kind in (2, 6)) == (8, True)
    size = 3 if kind == 2 else 4
    packed, place = b"", 8
    while place < len(png):
        [length] = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            packed += png[place + 8 : place + 8 + length]
        place += 12 + length
    data, stride = zlib.decompress(packed), width * size
    above, found = bytearray(stride), []
    for row in range(height):
        start = row * (stride + 1)
        way, line = data[start], bytearray(data[start + 1 : start + 1 + stride])
        for x in range(stride):
            left = line[x - size] if x >= size else 0
            corner = above[x - size] if x >= size else 0
            line[x] = (line[x] + _predicted(way, left, above[x], corner)) & 255
        found += [(line[x], line[x + 1], line[x + 2]) for x in range(0, stride, size)]
        above = line
    return found


def _predicted(way: int, left: int, up: int, corner: int) -> int:
    if way == 4:
        nearest = left + up - corner
        return min((left, up, corner), key=lambda value: abs(nearest - value))
    return (0, left, up, (left + up) // 2)[way]
