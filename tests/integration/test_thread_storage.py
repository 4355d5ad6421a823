"""The benchmark of thread storage runs, and what it shows holds: a turn costs what it adds, not the whole thread."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.thread_storage import main


def test_a_short_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "thread_storage.json"
    main(["--json", str(out), "--turns", "5"])
    report = json.loads(out.read_text(encoding="utf-8"))
    metrics, peer = report["metrics"], report["peers"]["create_agent"]
    for manager in ("react", "react_mem"):
        assert metrics[f"{manager}.checkpoint_blobs_bytes"] < peer["checkpoint_blobs_bytes"] / 5
        assert metrics[f"{manager}.thread_bytes"] < peer["thread_bytes"]
    assert report["environment"]["turns"] == 5
    assert "create_agent" in capsys.readouterr().out
