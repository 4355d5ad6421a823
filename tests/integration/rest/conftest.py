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


@pytest.fixture(params=["memory store", "sealed memory store"])
async def store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    """An empty store, in plain and sealed."""
    async with open_any_store(request.param, database_server) as opened:
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
