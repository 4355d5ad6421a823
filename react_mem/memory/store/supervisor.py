"""Run a server for as long as some process holds a shared lock on a file. POSIX.

The kernel releases the lock when its holder dies, however it dies, so that no server outlives its users.
Usage: `python -I -S supervisor.py LOCK_FILE COMMAND [ARGUMENT ...]`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time


def _stop_when_unused(lock_file: str, server: subprocess.Popen[bytes]) -> None:
    # Held until this process ends: the next user waits until the server is gone, and starts a new one.
    descriptor = os.open(lock_file, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    while server.poll() is None:
        server.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown: open sessions end, everything is written
        time.sleep(1)  # again, because a server that has just been started does not listen to signals yet


if __name__ == "__main__":
    # A signal to a whole group of processes is for the users of the server, not for the server.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    process = subprocess.Popen(sys.argv[2:])  # noqa: S603 - the command is our own
    threading.Thread(target=_stop_when_unused, args=(sys.argv[1], process), daemon=True).start()
    sys.exit(process.wait())
