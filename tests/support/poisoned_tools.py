"""Tools of an agent that is attacked over HTTP: each returns what a stranger planted for one of the attacks."""

from __future__ import annotations

from functools import cache

from benchmarks.poison.attack import load_attacks


async def read_page(of: str) -> str:
    """Look a page up."""
    return _planted()[of, "read_page"]


async def search_trains(of: str) -> str:
    """Look a train up."""
    return _planted()[of, "search_trains"]


async def find_places(of: str) -> str:
    """Look a place up."""
    return _planted()[of, "find_places"]


async def weather(of: str) -> str:
    """Look the weather up."""
    return _planted()[of, "weather"]


async def timetable(of: str) -> str:
    """Look a timetable up."""
    return _planted()[of, "timetable"]


@cache
def _planted() -> dict[tuple[str, str], str]:
    attacks = load_attacks()
    return {(one.id, one.observed.tool): one.observed.text for one in attacks if one.observed is not None}
