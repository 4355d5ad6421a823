"""Suite that the command runs, on the store that its factory opens."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any

import pytest_asyncio
from langgraph.store.base import BaseStore

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.suite import StoreConformance

FACTORY = "STORE_CONFORMANCE_FACTORY"
CLAIMS = "STORE_CONFORMANCE_CLAIMS"


def load_factory(path: str) -> Any:
    """Return what a path names.

    Args:
        path: `module:attribute`.

    Raises:
        ValueError: If there is nothing of that name.
    """
    module, colon, attribute = path.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"A factory is named as module:attribute, not {path!r}")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ValueError(f"There is no {path}: {error}") from error


@asynccontextmanager
async def open_given(path: str) -> AsyncIterator[BaseStore]:
    """Open the store that a factory gives, and close it as the factory has it.

    Args:
        path: `module:attribute`, a store or what opens one.

    Raises:
        TypeError: If it gives something else.
        ValueError: If there is nothing of that name.
    """
    opened = load_factory(path)
    if callable(opened) and not isinstance(opened, BaseStore):
        opened = opened()
    if inspect.isawaitable(opened):
        opened = await opened
    if isinstance(opened, AbstractAsyncContextManager) and not isinstance(opened, BaseStore):
        async with opened as store:
            yield _checked(path, store)
    elif isinstance(opened, AbstractContextManager) and not isinstance(opened, BaseStore):
        with opened as store:
            yield _checked(path, store)
    else:
        yield _checked(path, opened)


def _checked(path: str, opened: Any) -> BaseStore:
    if not isinstance(opened, BaseStore):
        raise TypeError(f"{path} gives no BaseStore but {type(opened).__name__}")
    return opened


class TestGivenStore(StoreConformance):
    """The store of `FACTORY`: one for all checks."""

    store_name = os.environ.get(FACTORY, "")
    capabilities = frozenset(Capability(name) for name in os.environ.get(CLAIMS, "").split(",") if name)
    loop_scope = "class"

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls) -> AsyncIterator[BaseStore]:  # type: ignore[override]
        """The store, opened and closed as its factory has it."""
        async with open_given(os.environ[FACTORY]) as store:
            yield store
