"""`react-mem memory graph` as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_memory_cli import Run, filled, read, run
from tests.e2e.test_terminal import Environment, environment, on_server

__all__ = ["environment", "filled", "on_server", "read", "run"]

pytestmark = pytest.mark.e2e


async def test_memories_and_links_are_written_as_what_they_are_wanted_for(
    filled: Environment, run: Run, read: Run, tmp_path: Path
) -> None:
    page = tmp_path / "graph.html"
    said = (await run("graph", "--out", str(page))).stdout
    assert "I live in Hu\\u1ebf" in page.read_text(encoding="utf-8")
    report = await read("graph", "--out", str(page))
    assert said.strip() == f"{report['memories']} memories and {report['links']} links are in {page}"
    drawn = json.loads((await run("graph", "--json")).stdout)
    assert report == {
        "memories": len(drawn["nodes"]),
        "links": len(drawn["links"]),
        "left_out": 0,
        "file": str(page),
    }
    names = {node["id"]: node["name"] for node in drawn["nodes"]}
    told = {(names[link["source"]], link["kind"], names[link["target"]]) for link in drawn["links"]}
    assert ("I live in Huế", "timeline", "I live in Đà Nẵng") in told
    assert "I moved" in names.values()
    assert json.loads((await run("graph", "--json", user="bob")).stdout) == {"nodes": [], "links": []}
    for name in ("x.foo", "x"):
        refused = (await run("graph", "--out", str(tmp_path / name), code=2)).stderr
        assert "end it with .html or .json" in refused
        assert not (tmp_path / name).exists()
    await run("graph", "--out", str(tmp_path / "x.json"))
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["nodes"]
    assert "cannot be written" in (await run("graph", "--out", str(tmp_path / "no" / "x.json"), code=2)).stderr
