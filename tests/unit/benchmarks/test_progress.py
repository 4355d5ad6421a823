"""A benchmark tells how far it is, and what it did when it is stopped."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.progress import NOT_WRITTEN, counted, interruptible
from react_mem.agents.terminal import progress


@pytest.fixture(autouse=True)
def each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)


def test_it_tells_how_many_are_done_and_of_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    asked = counted("abcdef", "Asking", "questions")
    assert [one for one in asked for _ in counted([1, 2], "Within", "parts")] == [*"aabbccddeeff"]
    done = capsys.readouterr()
    lines = done.err.splitlines()
    assert done.out == ""
    assert [line.partition(",")[0] for line in lines] == [f"Asking: {n} of 6 questions" for n in range(7)]
    assert lines[5].endswith(" left")


@pytest.mark.parametrize("far", [0, 2])
def test_it_ends_with_a_sentence_when_it_is_stopped(capsys: pytest.CaptureFixture[str], far: int) -> None:
    async def measure() -> None:
        for number in counted(range(5), "Asking", "questions"):
            await asyncio.sleep(0)
            if number == far:
                raise KeyboardInterrupt

    @interruptible
    def main(name: str) -> None:
        assert name == "a"
        asyncio.run(measure())

    with pytest.raises(SystemExit) as ended:
        main("a")
    assert ended.value.code == 130
    told = f"after {far} of 5 questions" if far else "before any of the questions was done"
    assert capsys.readouterr().err.splitlines()[-1] == f"Stopped {told}. {NOT_WRITTEN}"


def test_a_loop_that_was_left_does_not_silence_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in counted(range(3), "Asking", "questions"):
        break
    capsys.readouterr()
    assert list(counted([1], "Writing", "owners")) == [1]
    assert "Writing: 1 of 1 owners" in capsys.readouterr().err
