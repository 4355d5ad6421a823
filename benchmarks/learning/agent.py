"""An agent by script: it follows the first skill that it is offered, and explores where there is none or it fails."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.learning.world import Episode

BUDGET = 14
"""Steps that the agent has for a request."""

_RETRIES = 2
"""Times that it tries a step of a skill again: tools are flaky."""


@dataclass
class Attempt:
    """Steps of the agent for one request, as working memory has them."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    succeeded: bool = False


def work(episode: Episode, procedure: Sequence[str], luck: random.Random) -> Attempt:
    """Work on a request by the tools of a skill, or by exploring, until it is done or the budget is spent."""
    attempt = Attempt()

    def use(tool: str) -> bool:
        result = episode.call(tool)
        attempt.steps.append(
            {"action": tool, "arguments": {"item": episode.item}, "observation": result.output, "error": result.error}
        )
        attempt.succeeded = episode.is_done
        return not result.error

    def is_over() -> bool:
        return episode.is_done or len(attempt.steps) >= BUDGET

    done: set[str] = set()
    # what the request itself says is read only where there is no procedure to follow
    for tool in procedure or episode.hint:
        if not any(use(tool) for _ in range(_RETRIES + 1) if not is_over()):
            break
        done.add(tool)
    # what has worked is not tried again; what has failed, once something else has worked
    failed: set[str] = set()
    while not is_over():
        open_ = [tool for tool in episode.task.plausible if tool not in done]
        tool = luck.choice([tool for tool in open_ if tool not in failed] or open_ or list(episode.task.plausible))
        if use(tool):
            done.add(tool)
            failed.clear()
        else:
            failed.add(tool)
    return attempt
