"""Talking to a command at a real terminal: keys go in, what is on the screen comes out."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.interrupts import hear_interrupts

CTRL_C, CTRL_D = "\x03", "\x04"

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|[\x01\x02]")
# In a session of its own, opening the terminal makes it the one whose Ctrl-C is heard.
_AT_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"


class AtTerminal:
    """A command at a terminal of 80 columns; use as a context manager."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _AT_TERMINAL, *map(str, command)],
            # nobody here answers where the cursor is
            env={**environment, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"},
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        )
        os.close(slave)
        self._changed = threading.Condition()
        self._raw = b""
        self._ended = False
        self._seen = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._master)

    @property
    def screen(self) -> str:
        """Everything that was drawn, without colours and cursor movements."""
        return _ESCAPES.sub("", self._raw.decode(errors="replace")).replace("\r", "")

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def enter(self, line: str) -> None:
        """Type a line and press Enter."""
        self.press(line + "\r")

    def expect(self, pattern: str, timeout: float = 60) -> str:
        """Wait until something is drawn, after what was waited for before."""
        found: list[re.Match[str]] = []

        def drawn() -> bool:
            found[:] = [match for match in [re.compile(pattern).search(self.screen, self._seen)] if match]
            return bool(found) or self._ended

        with self._changed:
            self._changed.wait_for(drawn, timeout)
        assert found, f"{pattern!r} was not drawn after character {self._seen} of:\n{self.screen}"
        self._seen = found[0].end()
        return found[0][0]

    def interrupt(self, until: str) -> None:
        """Press Ctrl-C, again if need be: readline misses one that comes just before it begins to read."""
        for _ in range(4):
            self.press(CTRL_C)
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                if until:
                    self.expect(until, timeout=15)
                else:
                    self.exit_code(timeout=15)
                return
        raise AssertionError(f"Ctrl-C was not heard:\n{self.screen}")

    def exit_code(self, timeout: float = 60) -> int:
        """Wait for the end."""
        return self._process.wait(timeout)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # Linux reports the other end's closing so
                data = b""
            with self._changed:
                self._raw += data
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return
