"""Pytest plugin: the assertions of `react_mem.testing` as fixtures.

Pytest loads it wherever react-mem is installed; the fixtures import the rest at their first use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest


@pytest.fixture(scope="session")
def assert_remembers() -> Callable[..., Awaitable[None]]:
    """`react_mem.testing.assert_remembers`."""
    from react_mem import testing

    return testing.assert_remembers


@pytest.fixture(scope="session")
def assert_forgets() -> Callable[..., Awaitable[None]]:
    """`react_mem.testing.assert_forgets`."""
    from react_mem import testing

    return testing.assert_forgets


@pytest.fixture(scope="session")
def assert_not_leaked() -> Callable[..., Awaitable[None]]:
    """`react_mem.testing.assert_not_leaked`."""
    from react_mem import testing

    return testing.assert_not_leaked
