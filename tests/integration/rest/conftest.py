"""A store with what two people have, and a client of each."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from tests.support.rest import client_as
from tests.support.stores import open_any_store

ANN = "ann@例え.com 🙂"
BOB = "Trần Thị Bảo"


@pytest.fixture
async def store(database_server: str) -> AsyncIterator[BaseStore]:
    """An empty store whose rows are sealed: what holds of it holds of a plain one."""
    async with open_any_store("sealed memory store", database_server) as opened:
        yield opened


@pytest.fixture
def memory(store: BaseStore) -> MemoryFacade:
    """Memory on the store."""
    return MemoryFacade(store)


@pytest.fixture
async def ann(store: BaseStore) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP of a user."""
    async with client_as(store, ANN) as client:
        yield client


@pytest.fixture
async def bob(store: BaseStore) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP of another user."""
    async with client_as(store, BOB) as client:
        yield client
