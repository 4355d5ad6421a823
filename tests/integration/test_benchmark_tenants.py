"""The benchmark of tenants runs as a command: every system on a real database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.tenants import __main__ as tenants


def test_a_run_beside_every_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # among longer vectors, halves change places with a neighbour that is as near
    monkeypatch.setattr(tenants, "DIMS", 16)
    out = tmp_path / "results" / "tenants.json"
    tenants.main(["--rows", "250", "--json", str(out)])
    report = json.loads(out.read_text(encoding="utf-8"))
    assert list(report["peers"]) == ["stock", "raw SQL", "stock, iterative", "stock, no index"]
    ours = report["metrics"]
    for metrics in (ours, report["peers"]["raw SQL"], report["peers"]["stock, no index"]):
        assert metrics["250.recall_to_10k"] == metrics["250.recall_tenant_of_100"] == 1.0
        assert 0 < metrics["250.p50_ms"] <= metrics["250.p95_ms"]
    for metrics in (ours, report["peers"]["stock"], report["peers"]["raw SQL"]):
        assert metrics["250.writes_per_second"] > 0
        assert metrics["250.disk_bytes_per_memory"] > 16 * 4
    assert report["environment"]["rows"] == [250]
    shown = capsys.readouterr().out
    assert "250 memories of 2 tenants" in shown
    assert "the tenant of 100" in shown
