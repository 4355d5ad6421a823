"""`react-mem mcp`: the memory of one user, for a client that starts this process and talks to it over stdio."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator

from react_mem.agents.config import AgentConfig
from react_mem.errors import MemoryCommandError
from react_mem.installation import pip_install
from react_mem.integrations.keeping_open import KeptOpen
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.runtime import open_storage

_PIECE = 1 << 16


async def run_mcp(user_id: str, config: AgentConfig, settings: StorageSettings) -> int:
    """Serve a client until it closes our input, or the process is told to stop.

    Args:
        user_id: Whose memory.
        config: The agent whose policy says what is read and written.
        settings: The database.

    Returns:
        The exit code.

    Raises:
        MemoryCommandError: If the protocol is not installed.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MemoryCommandError(f"the Model Context Protocol is an extra: {pip_install('mcp')}")
    # here, since not everybody has it
    from react_mem.integrations.mcp_server.mcp_building import memory_server
    from react_mem.integrations.mcp_server.mcp_caller import ClientUser, calling

    @contextlib.asynccontextmanager
    async def opening() -> AsyncIterator[MemoryFacade]:
        async with open_storage(settings) as storage:
            yield MemoryFacade(storage.memory, config.memory, checkpointer=storage.checkpointer)

    kept = KeptOpen(opening)
    kept.begin()
    try:
        with calling(ClientUser(user_id, config, kept.opened)), _input_until_stopped():
            await memory_server().run_stdio_async()
    finally:
        await kept.close()
    return 0


@contextlib.contextmanager
def _input_until_stopped() -> Iterator[None]:
    """Have the standard input end when the process is told to stop, as if the client had closed it.

    A thread that waits for input is not to be interrupted; so it waits for that of a socket, which can be ended.
    """
    if sys.platform == "win32":
        # Ctrl-C cancels us
        yield
        return
    ours, theirs = socket.socketpair()
    real = os.dup(0)
    os.dup2(theirs.fileno(), 0)
    theirs.close()

    def end() -> None:
        with contextlib.suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)

    def copy() -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(real, _PIECE):
                ours.sendall(piece)
        end()

    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, end)
    # it may wait for input that never comes
    threading.Thread(target=copy, daemon=True).start()
    try:
        yield
    finally:
        end()
        os.dup2(real, 0)
