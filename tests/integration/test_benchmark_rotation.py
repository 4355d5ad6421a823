"""The benchmark of rotation runs as a command, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import rotation


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rotation.json"
    monkeypatch.setattr(rotation, "_BEFORE", 0.5)
    rotation.main(["--rows", "400", "--json", str(out)])
    metrics = json.loads(out.read_text(encoding="utf-8"))["metrics"]
    assert (metrics["lost"], metrics["read_wrong"]) == (0, 0)
    assert metrics["memories"] >= 400
    # some of what is in plain is written anew, and sealed so, by its owner first
    assert metrics["seal what is in plain.done"] > 300
    assert metrics["new data keys.done"] > 300
    assert "new data keys" in capsys.readouterr().out
