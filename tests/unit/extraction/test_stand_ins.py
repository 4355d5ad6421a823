"""Models that stand in for one another behind the scenes: in which order, and within which time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.errors import DeadlineExceeded, ExtractionError, InvalidOutput, ModelRejected, ModelUnavailable
from react_mem.memory.llm.calls import ask_in_turn

FAILURES = [
    ModelRejected("a key is refused"),
    ModelUnavailable("it is down"),
    ModelUnavailable("no credit", retryable=False),
    InvalidOutput("nonsense", raw="?"),
    DeadlineExceeded("it is late"),
    ConnectionError("sk-secret-0123456789"),
]


def asking(*said: Any) -> tuple[list[Callable[[float], Awaitable[str]]], list[float]]:
    """Return what asks a model each, and the seconds that they will have been given."""
    given: list[float] = []

    def one(answer: Any) -> Callable[[float], Awaitable[str]]:
        async def ask(seconds: float) -> str:
            given.append(seconds)
            if isinstance(answer, Exception):
                raise answer
            return str(answer)

        return ask

    return [one(answer) for answer in said], given


@given(st.lists(st.sampled_from(FAILURES), max_size=4))
def test_the_first_that_does_not_fail_answers_and_the_rest_are_not_asked(failures: list[Exception]) -> None:
    asks, given_seconds = asking(*failures, "yes", "not asked")
    assert asyncio.run(ask_in_turn(asks, 10)) == "yes"
    assert len(given_seconds) == len(failures) + 1


@given(st.lists(st.sampled_from(FAILURES), min_size=1, max_size=4))
def test_of_what_all_raise_it_raises_what_another_time_may_mend(failures: list[Exception]) -> None:
    asks, _ = asking(*failures)
    with pytest.raises((ExtractionError, ConnectionError)) as caught:
        asyncio.run(ask_in_turn(asks, 10))
    passing = [error for error in failures if getattr(error, "retryable", isinstance(error, DeadlineExceeded))]
    assert caught.value is (passing or failures)[0]


async def test_one_that_hangs_leaves_time_for_those_that_stand_in() -> None:
    asks, given_seconds = asking(DeadlineExceeded("late"), DeadlineExceeded("late"), "yes")
    await ask_in_turn(asks, 9)
    first, second, last = given_seconds
    assert 0 < first <= 6
    assert 0 < second <= 6
    assert last <= 9
    [alone], seconds = asking("yes")
    await ask_in_turn([alone], 9)
    assert seconds[0] == pytest.approx(9, abs=0.5)
