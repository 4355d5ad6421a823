"""A database that dies, is full or takes no writes: what fails says why, and nothing that was stored is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from langgraph.store.base import PutOp
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import AgentConfig
from react_mem.errors import DatabaseFull, DatabaseReadOnly, DatabaseUnavailable
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings, postgres_server
from react_mem.memory.store.embedded import embedded_server
from tests.support.citus import one_server
from tests.support.embedded import STOP_SECONDS, kill_server, servers
from tests.support.embedded import server as server_of
from tests.support.scripted_model import ScriptedModel

pytestmark = [
    one_server,
    pytest.mark.skipif(sys.platform == "win32", reason="the embedded database does not run on Windows"),
]

PROJECT = Path(__file__).parents[3]
NAMESPACE = ("memory", "ann", "notes")
SECRET = "my-own-words"
PATIENCE = 120


def embedded(data_dir: Path, **more: Any) -> StorageSettings:
    return StorageSettings.model_validate({"data_dir": data_dir, "embedding": "local", **more})


def given(url: str, **more: Any) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": url, "embedding": "local", **more})


def configured(manager: str) -> AgentConfig:
    """Return an agent that learns nothing: what is tried here is what is kept."""
    return AgentConfig(
        name="tester", manager=manager, memory=MemoryPolicy.model_validate({"extraction": {"mode": "off"}})
    )


async def note(storage: Storage, key: str, text: str = SECRET) -> None:
    """Store without embedding: what is tried here is the database."""
    await storage.store.abatch([PutOp(NAMESPACE, key, {"text": text}, index=False)])


async def notes(storage: Storage) -> set[str]:
    return {item.key for item in await storage.store.asearch(NAMESPACE, limit=1_000)}


async def checkpoint(storage: Storage, thread: str) -> None:
    """Store a checkpoint, as a turn does."""
    async with open_agent(
        configured("react"),
        model=ScriptedModel(script=["noted"]),
        store=storage.memory,
        checkpointer=storage.checkpointer,
    ) as graph:
        await turn(graph, SECRET, thread)


async def turn(graph: Any, text: str, thread: str = "1") -> str:
    state = await graph.ainvoke(
        {"messages": [{"role": "user", "content": text}]},
        {"configurable": {"thread_id": thread}},
        context={"user_id": "ann"},
    )
    return str(state["messages"][-1].content)


async def said(graph: Any, thread: str = "1") -> list[str]:
    """Return what the user has said in a thread, as its checkpoint has it."""
    state = await graph.aget_state({"configurable": {"thread_id": thread}})
    return [message.content for message in state.values["messages"] if message.type == "human"]


@asynccontextmanager
async def watching(url: str) -> AsyncIterator[AsyncConnection[Any]]:
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        yield conn


async def end_sessions(url: str) -> None:
    """End all sessions of a database but this one, as an administrator does."""
    async with watching(url) as conn:
        await conn.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


class TestKilledSessions:
    async def test_one_that_is_killed_at_work_says_so_and_the_next_goes_on(self, database_url: str) -> None:
        async with open_storage(given(database_url)) as storage:
            await note(storage, "before")

            async def work() -> None:
                async with storage.pool.connection() as conn:
                    await conn.execute("SELECT pg_sleep(600)")

            working = asyncio.create_task(work())
            async with watching(database_url) as conn:
                asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                async with asyncio.timeout(PATIENCE):
                    while await (await conn.execute(asleep)).fetchone() != (1,):  # noqa: ASYNC110 - another process
                        await asyncio.sleep(0)
            await end_sessions(database_url)
            with pytest.raises(DatabaseUnavailable, match=r"was lost \(terminating connection") as raised:
                await working
            assert "pg_sleep" not in str(raised.value)
            await note(storage, "after")
            assert await notes(storage) == {"before", "after"}


class TestKilledServer:
    async def test_at_most_two_turns_fail_and_nothing_is_lost(
        self, data_dir: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        agent = configured("react_mem")
        model = ScriptedModel(script=["noted"])
        async with open_agent(agent, model=model, settings=embedded(data_dir)) as graph:
            heard: list[str] = []
            failures: list[Exception] = []
            for number in range(4):
                if number == 2:
                    kill_server(data_dir)
                try:
                    await turn(graph, f"I have {number} cats.")
                    heard.append(f"I have {number} cats.")
                except DatabaseUnavailable as error:
                    failures.append(error)
            assert len(failures) <= 2
            assert await said(graph) == heard
        assert "had stopped; it is started again" in caplog.text
        async with open_storage(embedded(data_dir)) as storage:
            kept = await storage.store.asearch(("memory", "ann"), limit=100)
            assert {item.value["text"] for item in kept if item.value.get("kind") == "message"} >= set(heard)

    def test_two_processes_that_notice_at_once_start_one(self, data_dir: Path) -> None:
        program = (
            "import asyncio, sys\n"
            "from pathlib import Path\n"
            "from react_mem.memory.store.embedded import embedded_server\n"
            "async def main():\n"
            "    async with embedded_server(Path(sys.argv[1])) as server:\n"
            "        print('ready', flush=True)\n"
            "        for line in sys.stdin:\n"
            "            await server.revive()\n"
            "            print('revived', flush=True)\n"
            "asyncio.run(main())\n"
        )
        users = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(data_dir)], stdin=-1, stdout=-1, text=True, cwd=PROJECT
            )
            for _ in range(2)
        ]
        try:
            assert [line(user) for user in users] == ["ready"] * 2
            for _ in range(2):
                kill_server(data_dir)
                for user in users:
                    assert user.stdin is not None
                    user.stdin.write("go\n")
                    user.stdin.flush()
                assert [line(user) for user in users] == ["revived"] * 2
                assert len(servers(data_dir)) == 1
        finally:
            for user in users:
                user.communicate(timeout=STOP_SECONDS)
        assert servers(data_dir) == []

    async def test_what_a_dead_server_left_at_work_is_ended_first(self, data_dir: Path) -> None:
        async with embedded_server(data_dir) as running, await AsyncConnection.connect(running.url) as conn:
            row = await (await conn.execute("SELECT pg_backend_pid()")).fetchone()
            assert row is not None
            session = psutil.Process(row[0])
            # it looks for its parent only when it waits for something, which a computation does not
            computing = asyncio.create_task(conn.execute("SELECT count(*) FROM generate_series(1, 1000000000000)"))
            async with asyncio.timeout(PATIENCE):
                while session.cpu_times().user < 0.2:  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0)
            kill_server(data_dir, see_children_end=False)
            assert is_at_work(session)
            await running.revive()
            assert not is_at_work(session)
            assert servers(data_dir) == [server_of(data_dir)]
            await asyncio.wait([computing])

    @pytest.mark.parametrize(
        ("least_space", "error", "says"),
        [(0, DatabaseUnavailable, r"(?s)did not start.*pg_control"), (1 << 60, DatabaseFull, r"is full.*Free space")],
        ids=["broken", "full"],
    )
    async def test_one_that_cannot_be_started_again_says_why(
        self,
        data_dir: Path,
        monkeypatch: pytest.MonkeyPatch,
        least_space: int,
        error: type[DatabaseUnavailable],
        says: str,
    ) -> None:
        monkeypatch.setattr("react_mem.memory.store.embedded._LEAST_SPACE", least_space)
        async with open_storage(embedded(data_dir)) as storage:
            await note(storage, "before")
            kill_server(data_dir)
            control = data_dir / "pg18" / "cluster" / "global" / "pg_control"
            control.rename(control.with_name("away"))
            with pytest.raises(error, match=says):
                await note(storage, "lost")
            control.with_name("away").rename(control)
            await note(storage, "after")
            assert await notes(storage) == {"before", "after"}


def is_at_work(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def line(user: subprocess.Popen[str]) -> str:
    assert user.stdout is not None
    return user.stdout.readline().strip()


class TestGivenServer:
    @pytest.fixture(autouse=True)
    def an_hour_to_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who would wait for the pool's timeout waits in vain."""
        monkeypatch.setattr(postgres_server, "_CONNECT_DEADLINE", 3600.0)

    async def test_one_that_is_gone_is_named_at_once_and_found_when_it_is_back(self, data_dir: Path) -> None:
        async with embedded_server(data_dir) as running, open_storage(given(running.url)) as storage:
            await note(storage, "before")
            await checkpoint(storage, "before")
            kill_server(data_dir)
            async with asyncio.timeout(PATIENCE):
                outcomes = await asyncio.gather(*(note(storage, "lost") for _ in range(30)), return_exceptions=True)
                with pytest.raises(DatabaseUnavailable):
                    await checkpoint(storage, "lost")
            for outcome in outcomes:
                assert isinstance(outcome, DatabaseUnavailable)
                assert "is not available" in str(outcome) or "was lost" in str(outcome)
                assert SECRET not in str(outcome)
            assert "DATABASE_URL" in str(outcomes[-1])
            await running.revive()
            async with asyncio.timeout(PATIENCE):
                await note(storage, "after")
                await checkpoint(storage, "after")
            assert await notes(storage) == {"before", "after"}
            threads = [saved.config["configurable"]["thread_id"] async for saved in storage.checkpointer.alist(None)]
            assert set(threads) == {"before", "after"}

    async def test_connections_that_are_all_in_use(self, database_url: str) -> None:
        async with open_storage(given(database_url, pool_max=1)) as storage:
            await storage.pool.wait(PATIENCE)
            async with storage.pool.connection():
                storage.pool.timeout = 0.01
                with pytest.raises(DatabaseUnavailable, match=r"All 1 connections .* DATABASE_POOL_MAX"):
                    await note(storage, "lost")
            storage.pool.timeout = PATIENCE
            await note(storage, "after")

    async def test_a_database_that_takes_no_writes(self, database_url: str) -> None:
        async with open_storage(given(database_url)) as storage:
            await note(storage, "before")
            await self._set(database_url, "ON")
            with pytest.raises(
                DatabaseReadOnly, match=r"takes no writes.*not stored.*default_transaction_read_only"
            ) as raised:
                await note(storage, "lost")
            assert SECRET not in str(raised.value)
            with pytest.raises(DatabaseReadOnly):
                await checkpoint(storage, "lost")
            assert await notes(storage) == {"before"}
            await self._set(database_url, "OFF")
            await note(storage, "after")
            assert await notes(storage) == {"before", "after"}

    async def _set(self, url: str, read_only: str) -> None:
        async with watching(url) as conn:
            await conn.execute("SET default_transaction_read_only = OFF")
            await conn.execute(
                SQL("ALTER DATABASE {} SET default_transaction_read_only = {}").format(
                    Identifier(conn.info.dbname), SQL(read_only)
                )
            )
        await end_sessions(url)


class TestFullDisk:
    @pytest.fixture
    def small_disk(self, built: Path, tmp_path: Path) -> Iterator[Path]:
        """A folder with a cluster on a disk of 160 MB."""
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = shutil.which("mount") and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(disk)], capture_output=True, check=False
        )
        if not mounted or mounted.returncode != 0:
            pytest.skip("mounting a small disk (mount -t tmpfs) is not allowed here: it takes root")
        try:
            subprocess.run(["cp", "-a", f"{built}/.", str(disk)], check=True)
            yield disk
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)

    async def test_it_is_named_and_what_was_stored_stays(self, small_disk: Path) -> None:
        ballast = small_disk / "ballast"
        async with open_storage(embedded(small_disk)) as storage:
            await note(storage, "before")
            await checkpoint(storage, "before")
            ballast.write_bytes(b"0" * (shutil.disk_usage(small_disk).free - 2 * 1024 * 1024))
            stored = {"before"}

            async def fill() -> None:
                for number in range(1_000):
                    await note(storage, str(number), os.urandom(16_000).hex())
                    stored.add(str(number))

            with pytest.raises(DatabaseFull, match=r"is full.*Free space") as raised:
                await fill()
            assert "INSERT" not in str(raised.value)
            ballast.unlink()
            await note(storage, "after")
            await checkpoint(storage, "after")
            assert await notes(storage) == {*stored, "after"}
