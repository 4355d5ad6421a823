"""The benchmarks of retrieval run as commands: every system on a real database, with the local embedder."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.locomo.__main__ import PEERS, main
from tests.unit.benchmarks import locomo_sample
from tests.unit.benchmarks.locomo_sample import write


def test_a_run_over_two_people_beside_every_peer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "locomo.json"
    main(["--data", str(write(tmp_path / "set.json", locomo_sample.sample())), "--json", str(out)])
    report = json.loads(out.read_text(encoding="utf-8"))
    # mem0 is measured where it is installed: it is no part of the locked environment
    assert list(report["peers"]) == [name for name in PEERS if name != "mem0" or find_spec("mem0")]
    for metrics in (report["metrics"], *report["peers"].values()):
        # there are four turns, and everyone looks at ten
        assert (metrics["recall@10"], metrics["recall@10.multi_hop"], metrics["questions"]) == (1.0, 1.0, 2)
    for metrics in (report["metrics"], report["peers"]["postgres_store"]):
        assert metrics["disk_bytes_per_memory"] > 0
    assert report["environment"]["data"] == ["set.json"]
    shown = capsys.readouterr().out
    assert "2 questions about 4 turns" in shown
    assert "langmem_tool" in shown
