"""The settings that the embedded PostgreSQL is started with."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_LEAST_BUFFERS, _MOST_BUFFERS = 128 << 20, 1 << 30
"""Bytes. A quarter of the memory is what PostgreSQL advises; a gigabyte holds the vectors of 700,000 memories."""

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
    "log_min_error_statement": "panic",  # statements carry what users said
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
    """Return how many bytes of pages the server may keep: it takes them only as it reads them.

    Measured with 100,000 memories, whose vectors fill 128 MB: with that as the limit a search costs half as much again.
    """
    import psutil  # type: ignore[import-untyped]

    memory = int(psutil.virtual_memory().total)
    with contextlib.suppress(OSError, ValueError):  # a container's share, where there is one
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(_LEAST_BUFFERS, min(memory // 4, _MOST_BUFFERS))
