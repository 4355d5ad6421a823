"""The benchmark of retrieval runs as a command: every system on a real database, with the local embedder."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.locomo.__main__ import PEERS, main
from tests.unit.benchmarks.locomo_sample import sample, write


def test_a_run_beside_every_peer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, charts = tmp_path / "results" / "locomo.json", tmp_path / "charts"
    data = write(tmp_path / "set.json", sample())
    main(["--data", str(data), "--json", str(out), "--save-plots", str(charts)])
    report = json.loads(out.read_text(encoding="utf-8"))
    # mem0 is measured where it is installed: it is no part of the locked environment
    assert list(report["peers"]) == [name for name in PEERS if name != "mem0" or find_spec("mem0")]
    for metrics in (report["metrics"], *report["peers"].values()):
        # there are four turns, and everyone looks at ten
        assert (metrics["recall@10"], metrics["recall@10.multi_hop"], metrics["questions"]) == (1.0, 1.0, 2)
    for metrics in (report["metrics"], report["peers"]["postgres_store"]):
        assert metrics["disk_bytes_per_memory"] > 0
    assert report["environment"]["data"] == ["set.json"]
    assert (charts / "locomo_recall_at_10.png").exists()
    shown = capsys.readouterr().out
    assert "2 questions about 4 turns" in shown
    assert "langmem_tool" in shown


def test_our_own_search_is_taken_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kayak.json"
    asked = sample()
    asked["qa"] = [{"question": "geography homework", "evidence": ["D2:2"], "category": 4}, *asked["qa"]]
    data = write(tmp_path / "set.json", asked, sample())
    arguments = ["--peers", "--ablate", "--fit"]
    main(["--data", str(data), "--json", str(out), *arguments])
    metrics = json.loads(out.read_text(encoding="utf-8"))["metrics"]
    compared = {name.removesuffix(".recall@10") for name in metrics if name.startswith(("without.", "only."))}
    arms = {"vector", "lexical", "window", "speaker", "time", "standing", "hub"}
    # the other arms find nothing alone
    alone = {f"only.{arm}" for arm in ("vector", "lexical", "time")}
    assert {name for name in compared if name.count(".") == 1} == {f"without.{arm}" for arm in arms} | alone
    # without vectors, nothing is found that has no word of the question, nor stands beside a turn that has
    assert metrics["without.vector.recall@10"] < metrics["recall@10"]
    for judged in ("shipped", "fitted", "held_out"):
        assert metrics[f"fit.{judged}.recall@10"] == metrics["recall@10"] == 1.0
    assert metrics["fit.multipliers.vector"] >= 0
    assert "held out" in capsys.readouterr().out
