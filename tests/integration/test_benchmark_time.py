"""The benchmarks of time run, and count what a turn asks of the models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import overhead, trust_cost
from benchmarks.load import main as load


def test_overhead_runs_beside_its_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "overhead.json"

    overhead.main(["--json", str(out), "--memories", "30", "--samples", "3", "--turns", "12", "--embedders", "stub"])

    result = json.loads(out.read_text(encoding="utf-8"))
    ours, peers = result["metrics"], result["peers"]
    calls = [ours["react.stub.30.model_calls"], ours["react_mem.stub.30.model_calls"]]
    calls += [peers["create_agent"]["stub.30.model_calls"], peers["langmem"]["stub.30.model_calls"]]
    assert calls == [1, 1, 1, 2]
    # one to learn from the turn; in every third or so, others to sum up what is older
    assert 1 <= ours["react_mem.stub.30.behind_model_calls"] <= 2
    assert ours["react_mem.stub.30.prompt_tokens"] > ours["react.stub.30.prompt_tokens"]
    assert ours["react_mem.stub.30.first_token_p50_ms"] < ours["react_mem.stub.30.turn_p50_ms"]
    assert ours["react.turn_12.prompt_tokens"] == peers["create_agent"]["turn_12.prompt_tokens"]
    if Path("/proc/self/schedstat").exists():
        database = [ours[f"react_mem.stub.30.{name}"] for name in ("database_cpu_ms", "behind_database_cpu_ms")]
        assert database[0] > database[1] > 0
    assert "One conversation as it grows" in capsys.readouterr().out


def test_trust_cost_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "trust_cost.json"

    trust_cost.main(["--json", str(out), "--memories", "30", "--turns", "3"])

    metrics = json.loads(out.read_text(encoding="utf-8"))["metrics"]
    for system in trust_cost.SYSTEMS:
        assert metrics[f"{system}.30.turn_cpu_p50_ms"] > 0
    for cost, (with_it, without) in trust_cost.COSTS.items():
        added = metrics[f"{with_it}.30.turn_cpu_mean_ms"] - metrics[f"{without}.30.turn_cpu_mean_ms"]
        assert metrics[f"{cost}.30.added_turn_cpu_mean_ms"] == pytest.approx(added, abs=0.01)
    assert "What is added" in capsys.readouterr().out


def test_load_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "load.json"

    load(["--json", str(out), "--users", "3", "--turns", "2"])

    result = json.loads(out.read_text(encoding="utf-8"))
    metrics, peer = result["metrics"], result["peers"]["create_agent"]
    for manager in ("react", "react_mem"):
        assert (metrics[f"{manager}.3.errors"], metrics[f"{manager}.3.degraded"]) == (0, 0)
        assert metrics[f"{manager}.3.turns_per_s"] > 0
        assert metrics[f"{manager}.3.peak_rss_bytes"] > 0
    assert metrics["react_mem.3.turns"] == metrics["react.3.turns"] == peer["3.turns"] == 6
    assert metrics["react_mem.3.pool_requests"] > metrics["react.3.pool_requests"]
    assert "Users at once" in capsys.readouterr().out
