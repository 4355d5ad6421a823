"""The circuit breaker of a model: how long it is left alone."""

from __future__ import annotations

from react_mem.agents.models import ModelFailure
from react_mem.agents.resolve import FIRST_REST, LONGEST_REST, ModelHealth

NAME = "openai:gpt"


def test_each_failed_trial_doubles_the_rest_up_to_a_limit_and_a_service_says_its_own() -> None:
    now = 1000.0
    health = ModelHealth(lambda: now)

    def fail(kind: str = "server", wait: float | None = None) -> None:
        health.failed(NAME, ModelFailure(kind, "It failed.", wait=wait), 0.1)  # type: ignore[arg-type]

    for _ in range(5):
        # a request that is refused says nothing of the model
        fail("request")
    fail()
    assert health.admits(NAME)
    fail()
    rests = []
    for _ in range(8):
        rests.append(health.seconds_left(NAME))
        assert not health.admits(NAME)
        now += rests[-1]
        # one call tries
        assert [health.admits(NAME) for _ in range(2)] == [True, False]
        fail()
    assert (rests[:3], rests[-1]) == ([FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST], LONGEST_REST)
    assert health.answered(NAME)
    assert health.admits(NAME)
    for _ in range(2):
        fail("rate", wait=90)
    assert health.seconds_left(NAME) == 90
