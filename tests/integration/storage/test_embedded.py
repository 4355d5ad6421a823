"""The embedded database's life: started by the first user, stopped after the last, however they die."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from react_mem.errors import EmbeddedDatabaseError
from react_mem.memory.store import unprivileged
from tests.support.embedded import STOP_SECONDS, embedded_database, server, servers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the embedded database does not run on Windows")

PROJECT = Path(__file__).parents[3]
USER_PROGRAM = """
import asyncio, sys
from pathlib import Path
from react_mem.memory.store.embedded import embedded_server
from react_mem.errors import EmbeddedDatabaseError

async def main():
    async with embedded_server(Path(sys.argv[1])) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)

try:
    asyncio.run(main())
except EmbeddedDatabaseError as error:
    print(f"refused: {error}", flush=True)
"""


class User:
    """Another process that uses the embedded database until it is told to leave."""

    def __init__(self, data_dir: Path, *, uid: int | None = None) -> None:
        command = [sys.executable, "-c", USER_PROGRAM, str(data_dir)]
        if uid is not None:
            # An interpreter or a checkout below a private folder is out of an ordinary user's reach otherwise.
            command = [sys.executable, unprivileged.__file__, str(uid), str(uid), *command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT)

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(STOP_SECONDS) == 0

    def kill(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait(STOP_SECONDS)


@pytest.fixture
def start_user() -> Iterator[Callable[..., User]]:
    users: list[User] = []

    def start(data_dir: Path, **options: int) -> User:
        users.append(User(data_dir, **options))
        return users[-1]

    yield start
    for user in users:
        user.process.kill()
        user.process.wait(STOP_SECONDS)
        for stream in (user.process.stdin, user.process.stdout):
            if stream is not None:
                stream.close()


def remember(url: str, note: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS notes (note text)")
        conn.execute("INSERT INTO notes VALUES (%s)", (note,))


def remembered(url: str) -> list[str]:
    with psycopg.connect(url) as conn:
        return [row[0] for row in conn.execute("SELECT note FROM notes")]


async def test_the_last_user_stops_it_and_the_next_finds_what_was_stored(data_dir: Path) -> None:
    async with embedded_database(data_dir) as url:
        remember(url, "tea")
        assert len(servers(data_dir)) == 1
    assert servers(data_dir) == []
    async with embedded_database(data_dir) as url:
        assert remembered(url) == ["tea"]
        with psycopg.connect(url) as conn:
            assert conn.execute("SHOW fsync").fetchone() == ("on",)
            conn.execute("CREATE EXTENSION vector")


def test_a_killed_user_leaves_no_server_and_loses_nothing(data_dir: Path, start_user: Callable[..., User]) -> None:
    user = start_user(data_dir)
    remember(user.said(), "tea")
    process = server(data_dir)
    user.kill(signal.SIGKILL)
    process.wait(STOP_SECONDS)
    again = start_user(data_dir)
    assert remembered(again.said()) == ["tea"]
    again.leave()
    assert servers(data_dir) == []


def test_the_first_to_leave_does_not_stop_it_for_the_other(data_dir: Path, start_user: Callable[..., User]) -> None:
    first, second = start_user(data_dir), start_user(data_dir)
    url = first.said()
    assert second.said() == url
    process = server(data_dir)
    first.leave()
    remember(url, "tea")
    assert server(data_dir).pid == process.pid
    second.leave()
    assert servers(data_dir) == []


def test_a_killed_user_does_not_stop_it_for_the_other(data_dir: Path, start_user: Callable[..., User]) -> None:
    first, second = start_user(data_dir), start_user(data_dir)
    url = first.said()
    second.said()
    first.kill(signal.SIGKILL)
    remember(url, "tea")
    second.leave()
    assert servers(data_dir) == []


def test_an_orphaned_server_is_used_and_then_stopped(data_dir: Path, start_user: Callable[..., User]) -> None:
    user = start_user(data_dir)
    user.said()
    orphan = server(data_dir)
    supervisor = orphan.parent()
    assert supervisor is not None
    supervisor.kill()
    user.kill(signal.SIGKILL)
    again = start_user(data_dir)
    remember(again.said(), "tea")
    assert server(data_dir).pid == orphan.pid
    again.leave()
    assert servers(data_dir) == []


@pytest.mark.parametrize("content", ["whole", "empty"])
async def test_a_pid_file_left_by_a_crash_is_no_obstacle(data_dir: Path, content: str) -> None:
    async with embedded_database(data_dir) as url:
        remember(url, "tea")
        pid_file = data_dir / "pg18" / "cluster" / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        process = server(data_dir)
        process.kill()
        process.wait(STOP_SECONDS)
    # The id of the dead server is now that of an unrelated process: of this one.
    lines[0] = str(os.getpid())
    pid_file.write_text("\n".join(lines) + "\n" if content == "whole" else "")
    # Its socket accepts for as long as one of its processes has not quite ended.
    address = data_dir / "pg18" / "run" / ".s.PGSQL.5432"
    address.unlink()
    with socket.socket(socket.AF_UNIX) as ending:
        ending.bind(str(address))
        ending.listen()
        async with embedded_database(data_dir) as url:
            assert remembered(url) == ["tea"]


async def test_a_half_built_cluster_does_not_count(tmp_path: Path, start_user: Callable[..., User]) -> None:
    home = tmp_path / "pg18"
    user = start_user(tmp_path)
    while not list(home.glob("building-*/PG_VERSION")):
        assert user.process.poll() is None
    user.kill(signal.SIGKILL)
    assert not (home / "cluster").exists()
    async with embedded_database(tmp_path) as url:
        remember(url, "tea")


async def test_a_cluster_with_missing_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pg18" / "cluster").mkdir(parents=True)
    with pytest.raises(EmbeddedDatabaseError, match=r"not a PostgreSQL cluster.*move it away"):
        async with embedded_database(tmp_path):
            pass


async def test_memories_of_another_version_are_not_silently_left_behind(tmp_path: Path) -> None:
    (tmp_path / "pg17" / "cluster").mkdir(parents=True)
    with pytest.raises(EmbeddedDatabaseError, match=r"holds memories of PostgreSQL 17.*REACT_MEM_DATA_DIR"):
        async with embedded_database(tmp_path):
            pass


async def test_a_path_too_long_for_a_socket(data_dir: Path) -> None:
    far = data_dir / ("long" * 20) / ("longer" * 10)
    far.mkdir(parents=True)
    (data_dir / "pg18").rename(far / "pg18")
    async with embedded_database(far) as url:
        remember(url, "tea")
        socket_dir = Path(psycopg.conninfo.conninfo_to_dict(url)["host"])
        assert stat.S_IMODE(socket_dir.parent.stat().st_mode) == 0o700
    shutil.rmtree(socket_dir.parent)


async def test_a_data_folder_that_cannot_be_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(EmbeddedDatabaseError, match=rf"{file} cannot be written.*REACT_MEM_DATA_DIR.*DATABASE_URL"):
        async with embedded_database(file):
            pass


async def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedDatabaseError, match=r"pip install .*\[local\]'.*DATABASE_URL"):
        async with embedded_database(tmp_path):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to see what root's start changes")
async def test_root_leaves_private_folders_private_and_makes_no_user(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    users = {entry.pw_name for entry in pwd.getpwall()}
    folders = [private, *private.parents, *Path(sys.prefix).parents]
    modes = [folder.stat().st_mode for folder in folders]
    async with embedded_database(private / "data") as url:
        remember(url, "tea")
        assert server(private / "data").username() == "nobody"
    assert [folder.stat().st_mode for folder in folders] == modes
    assert {entry.pw_name for entry in pwd.getpwall()} == users


@pytest.fixture
def ordinary_user() -> Iterator[tuple[int | None, Path]]:
    """An unprivileged user id to start processes with (None: our own), and a folder of theirs."""
    folder = Path(tempfile.mkdtemp())
    uid = None
    if os.geteuid() == 0:
        uid = pwd.getpwnam("nobody").pw_uid
        os.chown(folder, uid, -1)
        if not sys.platform.startswith("linux"):
            pytest.skip("as root, another user is only tried on Linux")
    yield uid, folder
    shutil.rmtree(folder)


def test_an_ordinary_user(ordinary_user: tuple[int | None, Path], start_user: Callable[..., User]) -> None:
    uid, folder = ordinary_user
    user = start_user(folder / "data", uid=uid)
    remember(user.said(), "tea")
    assert server(folder / "data").uids().effective == (os.geteuid() if uid is None else uid)
    user.leave()
    assert servers(folder / "data") == []
