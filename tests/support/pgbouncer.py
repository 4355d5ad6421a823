"""PgBouncer in transaction mode before a PostgreSQL of a test."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from react_mem.memory.store import unprivileged

INSTALLED = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")

_CONFIG = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
; few, and each transaction on another one: what is left in a session is missed at once
default_pool_size = 4
server_round_robin = 1
max_client_conn = 200
"""


@asynccontextmanager
async def pgbouncer(url: str, folder: Path) -> AsyncIterator[str]:
    """Start a pooler, and end it afterwards."""
    assert INSTALLED is not None
    parts = urlsplit(url)
    # a host may be given as a folder of sockets
    host = parts.hostname or parse_qs(parts.query)["host"][0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        own_port = free.getsockname()[1]
    config = folder / "pgbouncer.ini"
    user = unquote(parts.username or "postgres")
    config.write_text(_CONFIG.format(host=unquote(host), port=parts.port or 5432, user=user, own_port=own_port))
    log = folder / "pgbouncer.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *_unprivileged(), INSTALLED, str(config), stdout=output, stderr=asyncio.subprocess.STDOUT
        )
    try:
        async with asyncio.timeout(10):
            while b"process up" not in log.read_bytes():
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.02)  # it tells nobody else
        yield f"postgresql://{parts.username or 'postgres'}@127.0.0.1:{own_port}{parts.path}"
    finally:
        process.kill()
        await process.wait()


def _unprivileged() -> list[str]:
    """Return what to run it by: it refuses to run as root, and another user cannot reach the server's socket."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    return [sys.executable, "-I", "-S", str(unprivileged.__file__), str(nobody.pw_uid), str(nobody.pw_gid)]
