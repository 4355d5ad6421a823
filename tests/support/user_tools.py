"""Tools as a user writes them, for an agent's YAML to name by dotted path."""

from __future__ import annotations

from langgraph.types import interrupt


async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


def broken(city: str) -> str:
    """Fail."""
    raise RuntimeError(f"no station in {city}")


async def book(city: str) -> str:
    """Book a trip, once a person has agreed."""
    return f"{city}: {interrupt(f'book {city}?')}"
