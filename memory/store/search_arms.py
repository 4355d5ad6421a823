"""A recall that fails, asked again arm by arm: one that raises costs what it would have found, not the read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import psycopg

from react_mem.errors import StorageError
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.arms import Arm

Rows = TypeVar("Rows")

_STATE_OF_THE_DATABASE = frozenset({"08", "25", "40", "53", "55", "57", "58"})
"""Classes of SQLSTATE that are about the connection, locks or the server: no arm is to blame."""


async def arm_by_arm(
    ask: Callable[[Sequence[RecallOp]], Awaitable[Rows]], ops: Sequence[RecallOp], failure: Exception
) -> tuple[Rows, dict[Arm, str]]:
    """Return what recalls find by the arms that do not raise, and the causes of those that do.

    Args:
        ask: Runs recalls.
        ops: Recalls that fail when all of their arms are asked together.
        failure: How they failed.

    Raises:
        Exception: The failure, where no arm is to blame for it.
    """
    causes: dict[Arm, str] = {}
    kept: frozenset[Arm] = frozenset()
    found: list[Rows] = []
    for arm in Arm:
        if not any(arm in op.arms for op in ops):
            continue
        trial = kept | {arm}
        try:
            found = [await ask([op._replace(arms=op.arms & trial) for op in ops])]
        except Exception as error:
            if not may_be_an_arm(error):
                raise
            causes[arm] = cause_of(error)
        else:
            kept = trial
    if not found:
        raise failure
    return found[0], causes


def may_be_an_arm(error: Exception) -> bool:
    """Return whether an error may come from what is computed of a question, and not from where it is asked."""
    if isinstance(error, psycopg.Error):
        return error.sqlstate is not None and error.sqlstate[:2] not in _STATE_OF_THE_DATABASE
    return not isinstance(error, TimeoutError | OSError | StorageError)
