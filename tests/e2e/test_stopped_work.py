"""Long work that is stopped, by Ctrl-C or by a kill: what is done stays done, and the next call goes on from there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, LiteralString

import pytest
from langgraph.store.base import PutOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from react_mem.memory.store.embeddings import LOCAL_MODEL
from tests.e2e.test_terminal import REACT_MEM, Environment, environment, on_server
from tests.support.databases import open_memory_store, word_model
from tests.support.interrupts import hear_interrupts

__all__ = ["environment", "on_server"]

pytestmark = pytest.mark.e2e

KEY = bytes(range(32))
OWNERS = ("user0", "user1", "user2")
EACH = 120


class Done:
    """A command that has ended.

    Args:
        code: Its exit code.
        out: What it said.
        err: What it said besides.
    """

    def __init__(self, code: int | None, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


class Command:
    """`react-mem` on a database, as somebody runs it who has set a key."""

    def __init__(self, environment: Environment, cwd: Path) -> None:
        self._environment = environment
        self._cwd = cwd
        self.set(MEMORY_ENCRYPTION_KEY=KEY.hex(), EMBEDDING_MODEL="local", PYTHONFAULTHANDLER="1")

    def set(self, **more: str) -> None:
        """Set more of its environment."""
        self._environment = {**self._environment, **more}

    async def run(self, *arguments: str) -> Done:
        """Run a command to its end."""
        return await self._ended(await self._started(arguments))

    async def stopped(
        self, how: signal.Signals, arguments: tuple[str, ...], stands: Callable[[], Awaitable[Any]]
    ) -> Done:
        """Run a command, and stop it as soon as it stands still where a test has it wait."""
        process = await self._started(arguments)
        try:
            async with asyncio.timeout(60):
                while process.returncode is None and not await stands():  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.05)  # the interval of a poll
        finally:
            if process.returncode is None:
                process.send_signal(how)
            done = await self._ended(process)
        if how == signal.SIGKILL:
            assert done.code == -signal.SIGKILL, done.err
        else:
            assert done.code == 130, done.err
            assert len(done.err.splitlines()) == 1, done.err
        return done

    async def _started(self, arguments: tuple[str, ...]) -> Process:
        return await asyncio.create_subprocess_exec(
            REACT_MEM,
            *arguments,
            env=self._environment,
            cwd=self._cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hear_interrupts,
        )

    async def _ended(self, process: Process) -> Done:
        try:
            async with asyncio.timeout(60):
                out, err = await process.communicate()
        except TimeoutError:
            process.send_signal(signal.SIGABRT)  # it says where it stood
            out, err = await process.communicate()
            pytest.fail(f"It did not end:\n{err.decode()}")
        return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def command(on_server: Environment, tmp_path: Path) -> Command:
    return Command(on_server, tmp_path)


@asynccontextmanager
async def held(url: str, lock: LiteralString) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Hold a lock; yield what tells whether somebody waits for it."""
    async with (
        await AsyncConnection[DictRow].connect(url, autocommit=True, row_factory=dict_row) as watching,
        await AsyncConnection[DictRow].connect(url, row_factory=dict_row) as holding,
    ):
        await holding.execute(lock)

        async def is_waited_for() -> bool:
            found = await watching.execute(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return await found.fetchone() is not None

        yield is_waited_for
        # a server notices late that nobody is there any more, and does what it was asked for when it need not wait
        await watching.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )


# what the commands find is as of the local model, whose vectors take longer to make
MODEL = word_model(384, LOCAL_MODEL)


async def fill(url: str, *, sealed: bool = False) -> None:
    async with open_memory_store(url, MODEL, sealed=sealed) as store:
        for owner in OWNERS:
            namespace = ("memory", owner, "semantic")
            puts = [PutOp(namespace, f"m{n:03}", {"kind": "fact", "text": f"tea {n} of {owner}"}) for n in range(EACH)]
            await store.abatch(puts)


async def asked(url: str, query: LiteralString) -> list[Any]:
    """Return the first column of what a query finds."""
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        return [row[0] for row in await (await conn.execute(query)).fetchall()]


SEALED: LiteralString = "SELECT count(*) FROM store WHERE jsonb_exists(value, ':sealed')"
SECOND_OWNER: LiteralString = "SELECT 1 FROM memory_owners WHERE owner = 'user1' FOR UPDATE"
GOES_ON = "What is done stays done; the same command goes on from there."


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
async def test_sealing(how: signal.Signals, command: Command, database_url: str) -> None:
    await fill(database_url)
    async with held(database_url, SECOND_OWNER) as stands:
        stopped = await command.stopped(how, ("keys", "seal"), stands)
    assert await asked(database_url, SEALED) == [EACH]
    if how == signal.SIGINT:
        assert stopped.err == f"Stopped after 120 of 360 records. {GOES_ON}\n"
    again = await command.run("keys", "seal")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("240 records that were in plain are sealed, and 0 with")
    assert await asked(database_url, SEALED) == [3 * EACH]


async def test_a_rotation_of_data_keys(command: Command, database_url: str) -> None:
    await fill(database_url, sealed=True)
    keys: LiteralString = "SELECT version FROM memory_keys WHERE owner LIKE 'user%%' AND state = 'live' ORDER BY owner"
    before = await asked(database_url, keys)
    async with held(database_url, SECOND_OWNER) as stands:
        stopped = await command.stopped(signal.SIGINT, ("keys", "rotate", "--data-keys"), stands)
    assert stopped.err == f"Stopped after 120 of 360 records. {GOES_ON}\n"
    between = await asked(database_url, keys)
    assert [one == other for one, other in zip(before, between, strict=True)] == [False, True, True]
    again = await command.run("keys", "rotate", "--data-keys")
    assert (again.code, again.err) == (0, "")
    assert "2 owners have a new data key" in again.out
    assert "and 240 with another data key" in again.out
    after = await asked(database_url, keys)
    assert [one == other for one, other in zip(between, after, strict=True)] == [True, False, False]
    assert await asked(database_url, "SELECT count(*) FROM memory_keys WHERE state = 'former'") == [0]
