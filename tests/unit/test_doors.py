"""Doors: what a package offers is told once, in one form, and is there."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module

import pytest

DOORS = (
    "react_mem",
    "react_mem.agents",
    "react_mem.memory",
    "react_mem.memory.runtime",
    "react_mem.memory.records",
    "react_mem.memory.turns",
    "react_mem.memory.context",
    "react_mem.memory.language",
    "react_mem.memory.telemetry",
    "react_mem.memory.adapters",
    "react_mem.integrations",
)


def declared(door: str) -> set[str]:
    """Return what a door's source declares for type checkers."""
    [block] = [
        node
        for node in ast.parse(inspect.getsource(import_module(door))).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_offers_what_it_declares_and_all_of_it_is_there(door: str) -> None:
    package = import_module(door)
    assert set(package.__all__) == declared(door)
    # a module of the same name would be given instead, if it was imported first
    assert [name for name in package.__all__ if inspect.ismodule(getattr(package, name))] == []
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize(
    ("door", "most"),
    [
        ("react_mem", 25),
        ("react_mem.memory", 25),
        ("react_mem.memory.records", 40),
        ("react_mem.memory.turns", 40),
        ("react_mem.memory.runtime", 60),
        ("react_mem.memory.context", 45),
    ],
)
def test_the_public_doors_stay_small(door: str, most: int) -> None:
    assert len(import_module(door).__all__) <= most


def test_what_a_door_does_not_offer_is_refused_with_what_it_does() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'OpenAgent'; it has .*, open_agent"):
        _ = import_module("react_mem").OpenAgent
