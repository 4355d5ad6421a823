"""The benchmark of the page runs."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.page_paint import main
from tests.support.browser import browser_path


def test_a_small_memory_is_seen(tmp_path: Path) -> None:
    browser_path()
    out = tmp_path / "page_paint.json"
    main(["--json", str(out), "--memories", "10", "30", "--visits", "1"])
    metrics = json.loads(out.read_text(encoding="utf-8"))["metrics"]
    for size in (10, 30):
        assert 0 < metrics[f"first_paint_ms.{size}"] <= metrics[f"first_paint_p95_ms.{size}"]
        assert metrics[f"list_ms.{size}"] > 0
        assert metrics[f"pan_frames_a_second.{size}"] > 0
