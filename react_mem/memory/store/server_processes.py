"""The processes of a PostgreSQL on a data folder: found, stopped and cleaned up; and the server's settings."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

STOP_TIMEOUT = 30.0
"""Seconds for a fast shutdown, which flushes memory; after that a crash recovery is the lesser evil."""
POLL = 0.02


class ServerProcesses:
    """Server processes on a data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.pid_file = data / "postmaster.pid"

    def status(self) -> str:
        """Return the server's status from the pid file, such as `ready`; empty for none."""
        lines = self._pid_lines()
        return lines[7].strip() if len(lines) > 7 else ""

    def server(self) -> int | None:
        """Return the process id of the PostgreSQL on this folder, verified, or None."""
        import psutil  # type: ignore[import-untyped]

        lines = self._pid_lines()
        candidates: Iterator[int]
        if lines and lines[0].strip().lstrip("-").isdigit():
            candidates = iter([abs(int(lines[0]))])
        elif self.pid_file.exists():
            candidates = iter(psutil.pids())  # an incomplete pid file: look at all processes
        else:
            return None
        for pid in candidates:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                if (
                    process.status() != psutil.STATUS_ZOMBIE
                    and process.name().startswith("postgres")
                    # A killed one has no arguments any more while it ends, and its socket still accepts.
                    and (not (arguments := process.cmdline()) or str(self.data) in arguments)
                ):
                    return pid
        return None

    def stop(self) -> None:
        """Shut the server down, and wait for its end."""
        pid = self.server()
        deadline = time.monotonic() + STOP_TIMEOUT
        if pid is not None:
            _signal(pid, signal.SIGINT)  # fast shutdown
        while pid is not None and self.server() == pid:
            if time.monotonic() > deadline:
                _signal(pid, signal.SIGQUIT)  # immediate shutdown: the next start recovers
                return
            time.sleep(POLL)

    def end_orphans(self) -> bool:
        """End the child processes of a dead server, which a new one must not run beside; return true if all have ended.

        Sessions end by themselves once they wait for anything; a computing one does not.
        """
        deadline = time.monotonic() + STOP_TIMEOUT
        while orphans := list(self._orphans()):
            if time.monotonic() > deadline:
                return False
            for pid in orphans:
                _signal(pid, signal.SIGQUIT)  # at once; crash recovery repairs the data
            time.sleep(POLL)
        return True

    def _orphans(self) -> Iterator[int]:
        import psutil

        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                # the title has no path, but PostgreSQL's processes run in their data folder
                if (
                    process.name().startswith("postgres")
                    and process.status() != psutil.STATUS_ZOMBIE
                    and Path(process.cwd()) == self.data
                ):
                    yield process.pid

    def _pid_lines(self) -> list[str]:
        try:
            return self.pid_file.read_text().splitlines()
        except OSError:
            return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # gone already
        os.kill(pid, number)


# The settings that the embedded PostgreSQL is started with.

_LEAST_BUFFERS, _MOST_BUFFERS = 128 << 20, 1 << 30
"""Bytes. PostgreSQL advises a quarter of the memory; a gigabyte holds the vectors of 700,000 memories."""

_SERVER_SETTINGS = {
    "listen_addresses": "",  # the socket only, in a folder that only we can reach
    "max_connections": "100",
    "maintenance_work_mem": "128MB",  # building a vector index in memory
    # Two cores are shared with the agent, and a container's 64 MB of shared memory break parallel index builds.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "jit": "off",  # compiling costs more than these short queries take
    "wal_level": "minimal",  # nobody replicates from here
    "max_wal_senders": "0",
    "log_min_error_statement": "panic",  # statements contain content
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def server_arguments() -> list[str]:
    """Return the settings as arguments of `postgres`."""
    chosen = {**_SERVER_SETTINGS, "shared_buffers": f"{_shared_buffers() >> 20}MB"}
    if sys.platform.startswith("linux"):
        # After a crash everything is first brought to disk: file by file that took 3 s of an empty database's restart
        # on a busy machine, as one call to the kernel 0.03 s.
        chosen["recovery_init_sync_method"] = "syncfs"
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]


def _shared_buffers() -> int:
    """Return the most bytes of pages that the server may cache; it allocates them only as it reads.

    Measured with 100,000 memories, with vectors that fill 128 MB: with that as the limit a search costs half as
    much again.
    """
    import psutil

    memory = int(psutil.virtual_memory().total)
    with contextlib.suppress(OSError, ValueError):  # a container's share, where there is one
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(_LEAST_BUFFERS, min(memory // 4, _MOST_BUFFERS))
