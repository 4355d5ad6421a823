"""The circuit breaker of a model: when it is left alone, and when it is tried again."""

from __future__ import annotations

import pytest

from react_mem.agents.models import ModelFailure
from react_mem.agents.resolve import FIRST_REST, LONGEST_REST, ModelHealth

DOWN = ModelFailure("server", "It failed.")
NAME = "openai:gpt"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> ModelHealth:
    return ModelHealth(clock)


def fail(health: ModelHealth, times: int = 1, failure: ModelFailure = DOWN, seconds: float = 0.1) -> None:
    for _ in range(times):
        health.failed(NAME, failure, seconds)


def test_one_quick_failure_is_no_outage_and_two_in_a_row_are(health: ModelHealth) -> None:
    fail(health)
    assert health.admits(NAME)
    health.answered(NAME)
    fail(health)
    assert health.admits(NAME)
    fail(health)
    assert not health.admits(NAME)


def test_after_its_rest_one_call_tries_and_an_answer_ends_it(health: ModelHealth, clock: Clock) -> None:
    fail(health, 2)
    clock.now += FIRST_REST
    assert [health.admits(NAME) for _ in range(3)] == [True, False, False]
    assert health.answered(NAME)
    assert health.admits(NAME)
    assert health.admits(NAME)


def test_each_failed_trial_doubles_the_rest_up_to_a_limit(health: ModelHealth, clock: Clock) -> None:
    fail(health, 2)
    rests = []
    for _ in range(8):
        rests.append(health.seconds_left(NAME))
        clock.now += rests[-1]
        assert health.admits(NAME)
        fail(health)
    assert rests[:3] == [FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST]
    assert rests[-1] == LONGEST_REST


def test_a_service_is_not_asked_before_it_wants_to_be(health: ModelHealth, clock: Clock) -> None:
    fail(health, 2, ModelFailure("rate", "Too many.", wait=90))
    clock.now += 89
    assert not health.admits(NAME)
    clock.now += 1
    assert health.admits(NAME)


@pytest.mark.parametrize("kind", ["context", "request"])
def test_a_request_that_is_refused_says_nothing_of_the_model(health: ModelHealth, kind: str) -> None:
    fail(health, 5, ModelFailure(kind, "No."), seconds=60)  # type: ignore[arg-type]
    assert health.admits(NAME)
    assert health.last_failure(NAME) is None
