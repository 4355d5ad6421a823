"""Suite that the command runs, on the store that its factory opens."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
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
    except (ImportError, AttributeError) as error:
        raise ValueError(f"There is no {path}: {error}") from error


class TestGivenStore(StoreConformance):
    """The store of `FACTORY`: one for all checks."""

    store_name = os.environ.get(FACTORY, "")
    capabilities = frozenset(Capability(name) for name in os.environ.get(CLAIMS, "").split(",") if name)
    loop_scope = "class"

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def store(cls) -> AsyncIterator[BaseStore]:  # type: ignore[override]
        """The store, opened and closed as its factory has it."""
        opened = load_factory(os.environ[FACTORY])
        if callable(opened) and not isinstance(opened, BaseStore):
            opened = opened()
        if inspect.isawaitable(opened):
            opened = await opened
        if isinstance(opened, BaseStore):
            yield opened
        elif isinstance(opened, AbstractAsyncContextManager):
            async with opened as store:
                yield store
        elif isinstance(opened, AbstractContextManager):
            with opened as store:
                yield store
        else:
            raise TypeError(f"{os.environ[FACTORY]} gives no BaseStore but {type(opened).__name__}")
