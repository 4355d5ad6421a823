"""A cluster of Citus on this machine, of servers that can be killed and started again."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from psycopg import AsyncConnection, OperationalError

from react_mem.memory.store import unprivileged

_HOST = "127.0.0.1"
_SETTINGS = """
port={port}
listen_addresses='127.0.0.1'
unix_socket_directories=''
shared_preload_libraries='citus'
shared_buffers='256MB'
max_connections=200
wal_level=logical
citus.enable_statistics_collection=off
citus.node_connection_timeout=5000
"""


@dataclass
class Server:
    """A PostgreSQL with Citus, of programs in one folder and data in another."""

    programs: Path
    data: Path
    port: int
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql://postgres@{_HOST}:{self.port}/postgres"

    async def make(self) -> None:
        """Make its data, and what a node of the cluster needs."""
        self.data.mkdir(parents=True)
        _own(self.data)
        await self._run("initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as config:
            config.write(_SETTINGS.format(port=self.port))
        await self.start()
        async with await AsyncConnection.connect(self.url, autocommit=True) as conn:
            await conn.execute("CREATE EXTENSION citus")
            await conn.execute("CREATE EXTENSION vector")

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.data.parent / f"{self.data.name}.log").open("ab") as log:
            command = self._command("postgres", "-D", str(self.data))
            self.process = await asyncio.create_subprocess_exec(
                *command, env=self._environment(), stdout=log, stderr=asyncio.subprocess.STDOUT
            )
        async with asyncio.timeout(60):
            while True:
                with suppress(OperationalError):
                    await (await AsyncConnection.connect(self.url, connect_timeout=2)).close()
                    return
                await asyncio.sleep(0.1)

    async def end(self, by: signal.Signals = signal.SIGINT) -> None:
        """End it: by SIGQUIT as a crash does, without a word to those who are connected."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(by)
            await self.process.wait()

    async def _run(self, program: str, *arguments: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command(program, *arguments), env=self._environment(), stdout=asyncio.subprocess.DEVNULL
        )
        if await process.wait():
            raise RuntimeError(f"{program} failed with {process.returncode}")

    def _command(self, program: str, *arguments: str) -> Sequence[str]:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() != 0:
            return command
        nobody = pwd.getpwnam("nobody")
        script = str(unprivileged.__file__)
        return [sys.executable, "-I", "-S", script, str(nobody.pw_uid), str(nobody.pw_gid), *command]

    def _environment(self) -> dict[str, str]:
        libraries = [self.programs.parent / "lib", *self.programs.parent.parent.glob("*.libs")]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries))}


@asynccontextmanager
async def cluster(programs: Path, folder: Path, workers: int) -> AsyncIterator[list[Server]]:
    """Run a coordinator and so many workers, all but the last of which belong to the cluster, and yield them all."""
    os.chmod(folder, 0o755)  # noqa: S103 - the servers run as another user where this is root
    servers = [Server(programs, folder / f"node{n}", port) for n, port in enumerate(_free_ports(workers + 1))]
    try:
        for server in servers:
            await server.make()
        async with await AsyncConnection.connect(servers[0].url, autocommit=True) as conn:
            await conn.execute("SELECT citus_set_coordinator_host(%s, %s)", (_HOST, servers[0].port))
            for server in servers[1:-1]:
                await conn.execute("SELECT citus_add_node(%s, %s)", (_HOST, server.port))
        yield servers
    finally:
        for server in servers:
            await server.end()


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server((_HOST, 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _own(folder: Path) -> None:
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
