"""The benchmarks of time run, and count what a turn asks of the models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import overhead


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
