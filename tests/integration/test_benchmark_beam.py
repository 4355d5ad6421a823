"""The benchmark of long chats runs as a command: ours and its peers on a real database, with the local embedder."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from benchmarks.beam.__main__ import PROG
from benchmarks.locomo.__main__ import PEERS, main
from tests.unit.benchmarks.beam_sample import sample
from tests.unit.benchmarks.locomo_sample import write


def test_a_run_over_two_chats_beside_every_peer(tmp_path: Path) -> None:
    out = tmp_path / "beam.json"
    data = write(tmp_path / "set.json", sample(), sample())
    main(["--data", str(data), "--json", str(out), "--fit"], prog=PROG)
    report = json.loads(out.read_text(encoding="utf-8"))
    assert list(report["peers"]) == [name for name in PEERS if name != "mem0" or find_spec("mem0")]
    for metrics in (report["metrics"], *report["peers"].values()):
        # there are four turns, and everyone looks at ten
        assert metrics["recall@10.instruction_following"] == metrics["recall@10.event_ordering"] == 1.0
        assert metrics["low.recall@10"] == metrics["conversations.low.recall@10"] == 1.0
        assert metrics["prompt_evidence.event_ordering"] == 1.0
        assert metrics["questions"] == 4
    assert report["metrics"]["fit.held_out.recall@10.several_turns"] == 1.0
