"""Names of workers, and the test whether one of them is surely dead."""

from __future__ import annotations

import os
import socket
import uuid

_HOST = socket.gethostname()


def worker_name() -> str:
    """Return a name for a new worker, which says where it lives."""
    return f"{_HOST}/{os.getpid()}/{uuid.uuid4().hex}"


def is_dead(name: str) -> bool:
    """Return whether the worker's process is known to be gone; False where nothing can be known.

    Args:
        name: What `worker_name` returned, on whatever machine.

    >>> is_dead(worker_name()), is_dead("elsewhere/1/abc"), is_dead("")
    (False, False, False)
    """
    host, _, rest = name.partition("/")
    pid, _, _ = rest.partition("/")
    if host != _HOST or not pid.isdecimal() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        # it is there, and somebody else's
        return False
    return False
