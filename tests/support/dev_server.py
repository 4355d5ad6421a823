"""The real server: `langgraph dev` in a folder of its own, serving this checkout's graphs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from psycopg import AsyncConnection

from react_mem.memory.model.namespaces import work_namespace
from tests.support.databases import fresh_database
from tests.support.interrupts import hear_interrupts

ROOT = Path(__file__).resolve().parents[2]

_READY_SECONDS = 60
_STOP_SECONDS = 20
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
"""Not the shell's keys, addresses and tracing: a test says what the server is configured with."""


class DevServer:
    """A `langgraph dev` process."""

    def __init__(self, folder: Path, environment: Mapping[str, str], config: Mapping[str, Any] | None = None) -> None:
        self._folder = folder
        self._log = folder / "server.log"
        self._environment = {
            **{name: os.environ[name] for name in _INHERITED if name in os.environ},
            # as `make dev` sets them
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "1",
            "LANGGRAPH_STRICT_MSGPACK": "true",
            "LOG_JSON": "true",
            # the checkout, so that an agent's YAML can name the tools of the tests
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            **environment,
        }
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "langgraph.json").write_text(json.dumps({**_project_config(), **(config or {})}), encoding="utf-8")

    @property
    def folder(self) -> Path:
        """Where it runs and keeps its threads."""
        return self._folder

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def client(self, token: str | None = None) -> LangGraphClient:
        """Return a client, authenticated by a bearer token if one is given."""
        return get_client(url=self.url, headers={"authorization": f"Bearer {token}"} if token else None)

    @property
    def database_url(self) -> str:
        """Where its store is."""
        return self._environment["DATABASE_URL"]

    async def work_left(self, user_id: str, session_id: str, kind: str = "extract") -> bool:
        """Return whether there is still work to do behind the turns of a conversation."""
        prefix = ".".join(work_namespace(user_id))
        async with await AsyncConnection.connect(self.database_url) as conn:
            found = await conn.execute(
                "SELECT FROM store WHERE prefix = %s AND value ->> 'session' = %s AND value ->> 'kind' = %s",
                (prefix, session_id, kind),
            )
            return found.rowcount > 0

    def log(self) -> str:
        """Return what it has logged, since it was first started."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def command(self) -> list[str]:
        """Return the command that runs it."""
        return [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser", "--no-reload"]

    def start(self) -> Self:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.command(), "--port", str(self._port)],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # a group of its own, so that whatever it starts can be ended with it
                start_new_session=True,
                preexec_fn=hear_interrupts,
            )
        deadline = time.monotonic() + _READY_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"langgraph dev did not start:\n{self.log()}")
            time.sleep(0.1)
        return self

    def stop(self) -> None:
        """End it the way Ctrl-C does, and by force what does not end in time."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_SECONDS)

    def kill(self) -> None:
        """End it by force in whatever it does, with all that it has started."""
        process, self._process = self._process, None
        assert process is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_SECONDS)

    def restart(self) -> None:
        """End it and start it again in the same folder, on the same port."""
        self.stop()
        self.start()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ok", timeout=2).status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def dev_server(
    folder: Path, environment: Mapping[str, str], config: Mapping[str, Any] | None = None
) -> Iterator[DevServer]:
    """Run a server for the length of a context; a failure within shows its log."""
    server = DevServer(folder, environment, config).start()
    try:
        yield server
    finally:
        server.stop()
        sys.stdout.write(server.log())  # pytest shows it with a failure


@contextmanager
def database_for_a_server(server_url: str) -> Iterator[str]:
    """Make a database for longer than one test, whose event loop ends with it."""
    with asyncio.Runner() as runner:
        database = fresh_database(server_url)
        url = runner.run(database.__aenter__())
        try:
            yield url
        finally:
            runner.run(database.__aexit__(None, None, None))


EXAMPLE_GRAPHS = {
    **{name: f"react_mem.graphs.server:{name}" for name in ("maintenance", "chat_summary")},
    **{name: f"examples.flows.{name}:graph" for name in ("planner_worker", "smart_buyer")},
}
"""Graphs that `make dev EXAMPLES=1` adds."""


def _project_config() -> dict[str, Any]:
    """Return the project's config with the examples, for another folder: it names modules, and there is no .env."""
    config: dict[str, Any] = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    config.pop("env")
    return {**config, "graphs": {**config["graphs"], **EXAMPLE_GRAPHS}, "dependencies": ["."]}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
