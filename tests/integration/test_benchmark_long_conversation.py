"""The benchmark of a long conversation runs, and counts what it says it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.long_conversation import __main__ as benchmark
from benchmarks.long_conversation.__main__ import PEER


def test_it_runs_beside_its_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "long.json"

    benchmark.main(["--json", str(out), "--turns", "8"])

    result = json.loads(out.read_text(encoding="utf-8"))
    ours, peer = result["metrics"], result["peers"][PEER]
    assert [ours[f"{name}.turn_3_recovered"] for name in ("react", "react_mem")] == [1, 1]
    assert peer["turn_3_recovered"] == 1
    # short of its window, the peer is the whole history
    assert ours["react.prompt_tokens.turn_8"] == peer["prompt_tokens.turn_8"]
    assert ours["react.calls"] == ours["react_mem.calls"] == peer["calls"]
    assert (ours["react.small_calls"], ours["react_mem.waited_for"], ours["react_mem.degraded"]) == (0, 0, 0)
    assert ours["react_mem.small_calls"] >= 8
    assert "Prompt tokens of a turn" in capsys.readouterr().out
