"""Transcripts of coding agents, whole, growing and broken."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from react_mem.integrations.coding_hooks import transcripts
from react_mem.integrations.coding_hooks.transcripts import SaidTurn, read_turns
from tests.support.coding_agent import answered, said


def line(entry: Any) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def told(turns: list[SaidTurn]) -> list[tuple[str, str, bool]]:
    return [(turn.said, turn.answer, turn.used_tools) for turn in turns]


def test_what_grows_is_read_from_where_it_was_read_last_and_never_a_half_line(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(line(said("one")) + line(said("two"))[:20])
    turns, end = read_turns(str(file), 0)
    assert told(turns) == [("one", "", False)]
    file.write_bytes(line(said("one")) + line(said("two")) + line(answered("2")))
    turns, end = read_turns(str(file), end)
    assert (told(turns), end) == ([("two", "2", False)], file.stat().st_size)
    # one that was written anew is read anew
    file.write_bytes(line(said("three")))
    assert told(read_turns(str(file), end)[0]) == [("three", "", False)]


def test_of_a_long_one_the_end_is_read_and_no_line_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "MAX_READ", 600)
    monkeypatch.setattr(transcripts, "_MAX_LINE", 400)
    file = tmp_path / "t.jsonl"
    file.write_bytes(line(said("old")) * 20 + line(said("x" * 500)) + line(said("new")))
    turns, end = read_turns(str(file), None)
    assert (told(turns)[-1], end) == (("new", "", False), file.stat().st_size)
    assert all(len(turn.said) < 400 for turn in turns)
    assert len(turns) < 5


def test_what_is_no_transcript_tells_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "none", Path("/dev/null"), "a\0b"):
        assert read_turns(str(path), None) == ([], None)
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(
        b"\xff\x00\n{\n[]\n7\n" + b"[" * 5_000 + b"\n" + line({"message": {"content": [7, {"type": "x"}]}})
    )
    assert told(read_turns(str(broken), None)[0]) == []
