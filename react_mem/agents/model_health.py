"""Circuit breakers of models, so that one that is down does not cost every turn its time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from react_mem.agents.model_errors import ModelFailure
from react_mem.memory import telemetry

FAILURES = 2
"""So many in a row and a model rests: the first has been retried by the client, but may have met a restart."""

SLOW_SECONDS = 5.0
"""A failure that took so long is enough: each further one would cost a user as much."""

FIRST_REST = 30.0
LONGEST_REST = 600.0
"""The rest doubles with each failed trial, so that of a long outage one turn in ten minutes notices."""


@dataclass
class _Failures:
    failure: ModelFailure
    in_a_row: int = 0
    rest: float = 0.0
    until: float = 0.0


class ModelHealth:
    """Circuit breakers, one a model, of one agent in this process.

    A model that fails rests; after the rest one call tries it, and the others keep away from it until that has
    succeeded or another rest is over.

    Args:
        clock: Tells seconds that only go forward.

    >>> from react_mem.agents.model_errors import explain_model_error
    >>> now = 0.0
    >>> health = ModelHealth(lambda: now)
    >>> health.failed("openai:gpt", explain_model_error(TimeoutError(), "openai:gpt"), seconds=60)
    >>> health.admits("openai:gpt"), health.admits("anthropic:claude")
    (False, True)
    >>> now = 31.0
    >>> health.admits("openai:gpt"), health.admits("openai:gpt")
    (True, False)
    >>> health.answered("openai:gpt"), health.answered("openai:gpt")
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._records: dict[str, _Failures] = {}

    def admits(self, name: str) -> bool:
        """Return whether to ask a model now. After its rest this is so once: who is told so makes the trial.

        Args:
            name: The model.
        """
        record = self._records.get(name)
        if record is None or not record.rest:
            return True
        if (now := self._clock()) < record.until:
            return False
        # a trial that is never heard of again, such as one of a turn that was stopped, leaves room for the next
        record.until = now + record.rest
        return True

    def failed(self, name: str, failure: ModelFailure, seconds: float) -> None:
        """Note that a model failed.

        Args:
            name: The model.
            failure: How; a request that it refused says nothing of its health.
            seconds: How long that took.
        """
        if failure.of_the_request:
            return
        record = self._records.setdefault(name, _Failures(failure))
        record.failure = failure
        record.in_a_row += 1
        if record.rest or record.in_a_row >= FAILURES or seconds >= SLOW_SECONDS:
            record.rest = min(2 * record.rest or FIRST_REST, LONGEST_REST)
            telemetry.record("breaker.open", 1, guards="model", name=name)
            record.until = self._clock() + max(record.rest, min(failure.wait or 0.0, LONGEST_REST))

    def answered(self, name: str) -> bool:
        """Note that a model answered.

        Args:
            name: The model.

        Returns:
            Whether it had been failing.
        """
        record = self._records.pop(name, None)
        if record is not None and record.rest:
            telemetry.record("breaker.open", 0, guards="model", name=name)
        return record is not None

    def last_failure(self, name: str) -> ModelFailure | None:
        """Return how a model failed since it last answered, if it did."""
        record = self._records.get(name)
        return record.failure if record else None

    def seconds_left(self, name: str) -> float:
        """Return how long a model still rests."""
        record = self._records.get(name)
        return max(0.0, record.until - self._clock()) if record else 0.0
