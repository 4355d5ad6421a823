"""Latency of a tool's call, carried by its result: in the thread, so that whoever derives steps from it has it."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import ToolMessage

_LATENCY = "latency"
_DIGITS = 6


def timed(results: Iterable[ToolMessage], seconds: float) -> None:
    """Note how long a call took.

    Args:
        results: What it returned, as it goes into the thread.
        seconds: How long it took.
    """
    for result in results:
        result.additional_kwargs = {**result.additional_kwargs, _LATENCY: round(seconds, _DIGITS)}


def latency_of(result: ToolMessage) -> float | None:
    """Return how many seconds a call took; None where nobody noted it."""
    noted = result.additional_kwargs.get(_LATENCY)
    return float(noted) if isinstance(noted, int | float) and noted >= 0 else None
