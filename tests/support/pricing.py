"""Prices of genai-prices that do not change with its releases."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def costing(dollars: float) -> Callable[..., Any]:
    """Return a stand-in for `genai_prices.calc_price`: so many dollars for a million tokens of any prompt."""
    return lambda usage, name: SimpleNamespace(total_price=usage.input_tokens * dollars / 1e6)
