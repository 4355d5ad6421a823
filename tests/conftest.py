"""Databases and embedders for every test that asks for them."""

from __future__ import annotations

import asyncio
import faulthandler
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import CITUS_URL, database_on_all
from tests.support.databases import distribute_for, forget_durability, fresh_database, fresh_memory_store, word_model
from tests.support.embedded import embedded_database
from tests.support.openai_server import openai_server

__all__ = ["openai_server"]

# How long an example takes says more about what else runs on the machine than about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


collect_ignore = ["support/clocked_auth.py"]
"""What another process loads, with settings or packages of its own: to be imported here it would have to have them."""

_ATTACKS = "tests/attacks/"
_LONG_FIRST = (_ATTACKS, "tests/e2e/", "tests/integration/test_", "tests/integration/", "tests/contract/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what starts processes and servers: no worker is left with a file of minutes when the others end."""

    def place(item: pytest.Item) -> int:
        return next((n for n, start in enumerate(_LONG_FIRST) if item.nodeid.startswith(start)), len(_LONG_FIRST))

    items.sort(key=place)


class SchedulingByServer(LoadFileScheduling):
    """Hands the files of tests to workers: whole, and all attacks to one, since they share two servers."""

    def _split_scope(self, nodeid: str) -> str:
        return _ATTACKS if nodeid.startswith(_ATTACKS) else super()._split_scope(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test in which a worker ended; what follows it goes to others, and it does not: it would end them.

        Args:
            node: The worker.
        """
        workload = self.assigned_work.get(node, {})
        left = ((unit, nodeid) for unit in workload.values() for nodeid, is_done in unit.items() if not is_done)
        unit, nodeid = next(left, ({}, None))
        if nodeid is not None:
            unit[nodeid] = True
        super().remove_node(node)
        return nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Return what hands tests to workers, where files are to stay whole.

    Args:
        config: The options of the run.
        log: Where to say what it does.
    """
    return SchedulingByServer(config, log) if config.getoption("dist") == "loadfile" else None


_TEARDOWN_SECONDS = 120


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """End a worker whose teardown hangs: once a test has failed, pytest and its plugins limit nothing any more."""
    faulthandler.dump_traceback_later(_TEARDOWN_SECONDS, exit=True, file=item.config.stash[fault_handler_stderr_fd_key])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session", autouse=True)
def users_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what a test leaves to the default out of the data folder of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def database_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an embedded server that lives as long as the test session; of a cluster where one is named."""
    data_dir: Path = tmp_path_factory.mktemp("postgres")
    with asyncio.Runner() as runner:
        server = database_on_all() if CITUS_URL else embedded_database(data_dir)
        url = runner.run(server.__aenter__())
        try:
            if not CITUS_URL:
                runner.run(forget_durability(url))
            yield url
        finally:
            runner.run(server.__aexit__(None, None, None))


@pytest.fixture
async def database_url(database_server: str) -> AsyncIterator[str]:
    """The URL of an empty database."""
    async with fresh_database(database_server) as url:
        yield url


@pytest.fixture
async def storage(database_url: str) -> AsyncIterator[Storage]:
    """Open storage on an empty database, with the local embedding model."""
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})
    async with open_storage(settings) as opened:
        if CITUS_URL:
            await distribute_for(opened.pool)
        yield opened


@pytest.fixture
def words() -> EmbeddingModel:
    """A fast embedding model: texts are near when they share words."""
    return word_model()


@pytest.fixture
async def memory_store(database_server: str) -> AsyncIterator[MemoryStore]:
    """A `MemoryStore` on an empty database, with a fast embedding model."""
    async with fresh_memory_store(database_server) as store:
        yield store
