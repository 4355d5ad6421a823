"""The graph's benchmarks run, and their intervals are those of the questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.graph_reads import main
from benchmarks.locomo.graph import differences
from benchmarks.locomo.metrics import Ranking


def test_reads_and_writes_of_a_small_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "graph_reads.json"
    main(["--records", "300", "--reads", "10", "--json", str(out)])
    metrics = json.loads(out.read_text(encoding="utf-8"))["metrics"]
    assert metrics["records"] == 300
    assert metrics["links"] > 300
    assert 0 < metrics["page_rank_p50_ms"] <= metrics["rank_p50_ms"] <= metrics["rank_p95_ms"]
    assert metrics["turn_p50_ms"] > 0
    assert metrics["bytes_per_memory"] > 0
    assert "The graph of 300 memories" in capsys.readouterr().out


def ranking(found: list[str], group: str) -> Ranking:
    return Ranking(found, frozenset({"right"}), (group,), "owner", 0, 0.0, 0.0)


def test_a_difference_is_taken_question_by_question() -> None:
    hit, miss = (["right"], ["wrong"])
    before = [ranking(hit, "easy")] * 20 + [ranking(miss, "hard")] * 20
    after = [ranking(hit, "easy")] * 20 + [ranking(hit, "hard")] * 10 + [ranking(miss, "hard")] * 10
    found = differences(before, after)
    assert (found["low.easy"], found["mean.easy"], found["high.easy"]) == (0, 0, 0)
    assert (found["mean.hard"], found["mean.all"]) == (0.5, 0.25)
    assert 0.2 < found["low.hard"] < 0.4
    assert 0.6 < found["high.hard"] < 0.8
    assert differences(before, after) == found
