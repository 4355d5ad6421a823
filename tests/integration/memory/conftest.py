"""Memory over the stores that it must behave the same on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.stores import STORES, open_any_store

Open = Callable[..., MemoryFacade]


async def opened_store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    """Open an empty store of the kind that is asked for."""
    async with open_any_store(request.param, database_server) as opened:
        yield opened


store = pytest.fixture(params=["in memory", "memory store"], name="store")(opened_store)
"""An empty store, one of a process and one of a database in turn."""

every_store = pytest.fixture(params=STORES, name="store")(opened_store)
"""An empty store, each kind in turn: for a module whose promises each kind keeps by code of its own."""


@pytest.fixture
def open_memory(store: BaseStore) -> Open:
    """Open memory on the store, with a policy."""

    def open_(**policy: Any) -> MemoryFacade:
        return MemoryFacade(store, MemoryPolicy(**policy))

    return open_


@pytest.fixture
def memory(open_memory: Open) -> MemoryFacade:
    """Memory with the default policy."""
    return open_memory()
