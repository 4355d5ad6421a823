"""Checks of cases that go beyond their form: what nobody says cannot be quoted, changed or expected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

from benchmarks.writing.case import Case, Line, Pattern


def check_case(case: Case) -> list[str]:
    """Return what is wrong with a case, a sentence each."""
    return [*_lines(case), *_outcome(case), *_dates(case)]


def _lines(case: Case) -> Iterator[str]:
    earlier: list[Line] = []
    for turn in case.turns:
        facts = [line for line in turn.correct if line.drop is None]
        for line in facts:
            if line.target is not None and not any(_matches(line.target, one) for one in earlier):
                yield f"the target {line.target!r} fits nothing that a correct line of an earlier turn says"
            for need in line.needs:
                if not any(_matches(need, one) for one in (*earlier, *facts) if one is not line):
                    yield f"the need {need!r} fits nothing that another correct line says"
        earlier += facts


def _matches(expression: str, line: Line) -> bool:
    pattern = Pattern(says=(expression,))
    return pattern.matches(line.quote) or pattern.matches(line.sentence)


def _outcome(case: Case) -> Iterator[str]:
    correct = [line for turn in case.turns for line in turn.correct if line.drop is None]
    stated = [text for line in correct for text in (line.quote, line.sentence)]
    shown = [
        text for turn in case.turns for text in (turn.say, turn.reply, turn.observed and turn.observed.text) if text
    ]
    claimed = [line.sentence for turn in case.turns for line in turn.lines]
    for name in ("current", "doubtful", "known", "history", "gone"):
        for pattern in getattr(case.expect, name):
            if not any(pattern.matches(text) for text in (*stated, *(turn.say for turn in case.turns))):
                yield f"{name} {_shown(pattern)} fits nothing that the user says, and no correct line"
    for pattern in case.expect.never:
        if not any(pattern.matches(text) for text in (*shown, *claimed)):
            yield f"never {_shown(pattern)} fits nothing that is said, shown or claimed: it could not fail"
        if wrong := next((text for text in stated if pattern.matches(text)), None):
            yield f"never {_shown(pattern)} fits what a correct line says: {wrong!r}"


def _dates(case: Case) -> Iterator[str]:
    dates = [turn.at for turn in case.turns if turn.at is not None]
    if any(later < earlier for earlier, later in pairwise(dates)):
        yield "a turn is said before the one that it follows"
    if any(at > datetime.now(UTC) for at in dates):
        yield "a turn is said in the future"
    if dates and len(dates) < len(case.turns):
        yield "give `at` for every turn, or for none"


def _shown(pattern: Pattern) -> str:
    without = f" without {', '.join(pattern.without)}" if pattern.without else ""
    return f"[{', '.join(pattern.says)}{without}]"
