"""The server of `make ui`: on a port of its own, and there as long as what began it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = """#!{python}
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""
BEGIN = """import sys; sys.executable = {beside!r}
from react_mem.integrations.memory_page.__main__ import main; sys.exit(main())"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_it_ends_the_server(how: signal.Signals, tmp_path: Path) -> None:
    server = tmp_path / "langgraph"
    server.write_text(SERVER.format(python=sys.executable), encoding="utf-8")
    server.chmod(0o755)
    command = [sys.executable, "-c", BEGIN.format(beside=str(tmp_path / "python"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as launcher:
        assert launcher.stdout is not None
        pid = int(launcher.stdout.readline())
        try:
            launcher.send_signal(how)
            assert launcher.wait(timeout=30) == 7
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
