"""The resident: a process of one user that holds memory open for the hooks of their coding agents.

    python -m react_mem.integrations.coding_hooks.resident --agent assistant

A client starts it (`hook_client`). Its socket is open before memory is, so that no event is missed; a file lock allows
one resident at a time. It ends when it is idle. Its log has causes, and no words of the conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from react_mem.integrations.coding_hooks.hook_place import HookPlace, is_own, place_of
from react_mem.logged_in import is_user_id

if TYPE_CHECKING:
    from react_mem.integrations.coding_hooks.coding_session import HookEvents
    from react_mem.integrations.keeping_open import KeptOpen

# Idle time until it ends: longer than the pause that ends a conversation, so that it makes the summary itself
IDLE_SECONDS = 2_400.0

_MAX_REQUEST = 40 << 20  # Bytes of a request
_READ_SECONDS = 5.0
_PIECE = 1 << 16
_BESIDE = 1 << 17  # Bytes from which a request is parsed in a thread
_MAX_LOG = 1 << 20
_CLOSING_SECONDS = 8.0
_LEAST_WAIT = 0.05

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the resident until it is idle or stopped; return the exit code, 0 also where another one runs."""
    parser = argparse.ArgumentParser(prog="python -m react_mem.integrations.coding_hooks.resident")
    parser.add_argument("--agent", required=True, help="the agent whose policy and models to use")
    parser.add_argument("--idle", type=float, default=IDLE_SECONDS, help="seconds without use until it ends")
    arguments = parser.parse_args(argv)
    os.umask(0o077)
    place = place_of(arguments.agent)
    os.chdir(place.folder)
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    # the id by which a process can be ended
    os.truncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    _begin_log(place)
    try:
        asyncio.run(_Resident(arguments.agent, arguments.idle, place.folder).serve(place))
    except Exception as error:
        log.error("the resident has ended: %s", type(error).__name__)
        return 1
    return 0


def _begin_log(place: HookPlace) -> None:
    with contextlib.suppress(OSError):
        if os.path.getsize(place.log) > _MAX_LOG:
            os.truncate(place.log, 0)
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    logging.basicConfig(handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s")


class _Resident:
    """State of a resident; `notes` is the folder with the notes of owed sessions."""

    def __init__(self, agent: str, idle_seconds: float, notes: str) -> None:
        self._agent = agent
        self._notes = notes
        self._idle_seconds = idle_seconds
        self._used_at = 0.0
        self._answering: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._loading: asyncio.Future[KeptOpen[HookEvents]] | None = None

    async def serve(self, place: HookPlace) -> None:
        """Answer events until it is idle or stopped."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, self._ended.set)
        self._used_at = loop.time()
        # in the current folder; a stale socket of a dead resident is replaced
        server = await asyncio.start_unix_server(self._serve_client, place.socket, backlog=64)
        os.chmod(place.socket, 0o600)
        # relative paths are in the home folder, and no project's folder is kept from being removed
        os.chdir(place.home)
        # in a thread: the loop accepts events meanwhile
        self._loading = asyncio.ensure_future(asyncio.to_thread(_load, self._agent, self._notes))
        try:
            (await asyncio.shield(self._loading)).begin()
            while not self._ended.is_set():
                left = self._used_at + self._idle_seconds - loop.time()
                if left <= 0 and not self._answering:
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), max(left, _LEAST_WAIT))
        finally:
            # from here on a client starts another one, once the lock is free
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(place.folder, place.socket))
            server.close()
            if self._answering:
                await asyncio.wait(self._answering, timeout=_CLOSING_SECONDS)
            await (await self._loading).close()

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client; the event of a client that leaves early is stored all the same."""
        loop = asyncio.get_running_loop()
        self._used_at = loop.time()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - narrows for the type checker
        self._answering.add(task)
        try:
            mine = is_own(writer.get_extra_info("socket"))
            asked = await asyncio.wait_for(_read(reader), _READ_SECONDS) if mine else None
            if asked is None:
                log.warning("something that is no event of a hook was refused")
                return
            # all of it is sent before the end of the process
            writer.transport.set_write_buffer_limits(0)
            writer.write(json.dumps(await self._answer(asked)).encode())
            await asyncio.wait_for(writer.drain(), _READ_SECONDS)
        except (OSError, TimeoutError):
            # the client did not wait
            pass
        finally:
            writer.close()
            self._used_at = loop.time()
            self._answering.discard(task)

    async def _answer(self, asked: dict[str, Any]) -> dict[str, str]:
        assert self._loading is not None  # noqa: S101 - narrows for the type checker
        from react_mem.errors import ReactMemError
        from react_mem.integrations.coding_hooks.hook_context import ToldEvent
        from react_mem.memory.turns import cause_of, scrub

        event, told = asked["event"], ToldEvent(asked["told_at"], asked["transcript_bytes"])
        try:
            kept = await asyncio.shield(self._loading)
            events = await kept.opened()
            text, problem = await events.answer(asked["user"], event, told)
        except ReactMemError as error:
            log.warning("an event could not be answered: %s", cause_of(error))
            return {"problem": scrub(error)}
        except Exception as error:
            log.error("an event could not be answered: %s", cause_of(error))
            return {"problem": f"memory cannot be used now ({type(error).__name__}); its log says where it failed"}
        if problem:
            log.warning("an event was answered in part: %s", problem)
        name = event["hook_event_name"]
        output = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}} if text else {}
        return {"output": json.dumps(output, ensure_ascii=False) if output else "", "problem": problem}


def _load(agent: str, notes: str) -> KeptOpen[HookEvents]:
    """Return the opener of memory. Blocking: it imports most of the code."""
    from dotenv import find_dotenv, load_dotenv

    from react_mem import open_agent_memory
    from react_mem.integrations.coding_hooks.coding_session import HookEvents
    from react_mem.integrations.keeping_open import KeptOpen

    # of the home folder, in which the resident runs: never of a project that a coding agent works in
    load_dotenv(find_dotenv(usecwd=True))

    @asynccontextmanager
    async def opening() -> AsyncIterator[HookEvents]:
        async with open_agent_memory(agent) as opened:
            yield HookEvents(opened, notes)

    return KeptOpen(opening)


async def _read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    told = bytearray()
    while piece := await reader.read(_PIECE):
        told += piece
        if len(told) > _MAX_REQUEST:
            return None
    try:
        asked = await asyncio.to_thread(json.loads, told) if len(told) > _BESIDE else json.loads(told)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict) or not isinstance(asked.get("event"), dict):
        return None
    named = (asked.get("user"), asked["event"].get("hook_event_name"), asked["event"].get("session_id"))
    size = asked.get("transcript_bytes")
    if not isinstance(asked.get("told_at"), int) or not (size is None or isinstance(size, int)):
        return None
    return asked if all(isinstance(name, str) and name for name in named) and is_user_id(asked["user"]) else None


if __name__ == "__main__":
    raise SystemExit(main())
