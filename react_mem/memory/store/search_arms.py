"""A recall that fails, asked again arm by arm: one that raises costs what it would have found, not the read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from react_mem.memory.index.recall import RecallOp
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm

Found = TypeVar("Found")

log = logging.getLogger(__name__)


def arm_by_arm(ask: Callable[[RecallOp], Found], op: RecallOp, failure: Exception) -> tuple[Found, dict[Arm, str]]:
    """Return what a recall finds by the arms that do not raise, and the causes of those that do.

    Args:
        ask: Runs a recall.
        op: A recall that fails when all of its arms are asked together.
        failure: How it fails.

    Raises:
        Exception: The failure, where no arm is to blame for it.
    """
    causes: dict[Arm, str] = {}
    kept: frozenset[Arm] = frozenset()
    found: list[Found] = []
    for arm in (arm for arm in Arm if arm in op.arms):
        trial = kept | {arm}
        try:
            found = [ask(op._replace(arms=trial))]
        except Exception as error:  # whatever is computed of a question
            causes[arm] = cause_of(error)
        else:
            kept = trial
    if not found:
        raise failure
    log.warning("memory is searched without %s", "; ".join(f"{arm}: {why}" for arm, why in causes.items()))
    return found[0], causes
