"""Start of a server on a store that would break what its environment promises."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from langgraph.store.memory import InMemoryStore

from react_mem.errors import StorageError
from react_mem.graphs import http
from react_mem.memory.runtime import new_master_key


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("MEMORY_ENCRYPTION_KEY", new_master_key(), "would keep memories in plain"),
        ("MEMORY_AUDIT", "1", "no audit log"),
    ],
    ids=["key", "log"],
)
async def test_a_server_does_not_start_on_a_store_that_neither_seals_nor_keeps_a_log(
    name: str, value: str, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_to_warn_of() -> None:
        """There is no server around it."""

    monkeypatch.setattr(http, "warn_of_lenient_threads", lambda: None)
    monkeypatch.setattr(http, "warn_of_changed_assistants", nothing_to_warn_of)
    monkeypatch.setattr(http, "get_store", InMemoryStore)
    async with http.app.router.lifespan_context(FastAPI()):
        """It starts without the setting."""
    monkeypatch.setenv(name, value)
    with pytest.raises(StorageError, match=cause):
        async with http.app.router.lifespan_context(FastAPI()):
            pytest.fail("it has started")
