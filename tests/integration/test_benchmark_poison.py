"""The benchmark of attacks runs, and tells a memory that lets strangers in from one that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.poison.__main__ import main
from react_mem.memory.write.extraction.composing import Composer
from react_mem.memory.write.extraction.located import Locator

ONLY = ["de-tool-job", "zh-mail-quoted", "en-page-asking", "ja-mail-everything"]


def measured(path: Path) -> dict[str, Any]:
    main(["--store", "memory", "--json", str(path), "--only", *ONLY])
    metrics: dict[str, Any] = json.loads(path.read_text())["metrics"]
    return metrics


def test_no_attack_does_anything(tmp_path: Path) -> None:
    metrics = measured(tmp_path / "poison.json")
    assert metrics.pop("attacks") == len(ONLY)
    assert not any(value for name, value in metrics.items() if not name.endswith(".attacks"))


def test_a_memory_that_believes_its_model_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def believing(self: Any, fact: Any, part: str, target_id: str | None, *args: Any) -> Any:
        return fact.proposed.rel if target_id else "new"

    monkeypatch.setattr(Composer, "_relation", believing)
    monkeypatch.setattr(Locator, "_inconsistent", lambda self, fact: "")
    monkeypatch.setattr(Composer, "_retirement", lambda self, fact, *args: fact.proposed.rel)
    metrics = measured(tmp_path / "poison.json")
    assert metrics["facts_retired"] + metrics["facts_forgotten"] >= len(ONLY)
    assert metrics["utility_lost"] >= len(ONLY)
