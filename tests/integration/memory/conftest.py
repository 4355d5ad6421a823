"""Memory over every store that it must behave the same on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.stores import STORES, open_any_store

Open = Callable[..., MemoryFacade]


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    """An empty store, each kind in turn."""
    async with open_any_store(request.param, database_server) as opened:
        yield opened


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
