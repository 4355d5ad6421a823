"""Cleaning of pages in a process of its own, with bounds of time and memory.

A hostile page attacks the parser. In a process of its own the parser can be stopped, cannot take the memory of the
agent's process, and has none of its keys: it gets the markup and returns the text.

A message on either pipe is a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import BinaryIO, cast

from react_mem.tools.web.clean import Article, MissingPackage, clean, without_markup

MEMORY_BYTES = 512 * 1024 * 1024
"""Address space, with 50 MB of Python itself; a page of the largest size takes 70 MB more."""


class CleanerStopped(Exception):  # noqa: N818 - it says what has happened
    """The cleaning process did not survive a page."""


class PageCleaner:
    """Extractor of pages' text in a process that starts on demand. Blocking, and for one thread at a time."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process if there is none; it gets ready by itself."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(  # noqa: S603 - our own module, in our own Python
                [sys.executable, "-P", "-m", "react_mem.tools.web.cleaner", str(self._memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # only the variables that the interpreter needs, and no secrets
                env={
                    "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
                    **{name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ},
                },
                start_new_session=True,
            )
        return self._process

    def clean(self, markup: str, seconds: float, *, snippet: bool = False) -> Article:
        """Return the text of a page, or of an engine's snippet; empty for none.

        Raises MissingPackage, TimeoutError after `seconds`, and CleanerStopped if the process dies, or cannot read the
        page.
        """
        process = self.start()
        asked, answers = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(max(seconds, 0.0), stop)
        timer.daemon = True
        timer.start()
        try:
            _send(asked, [markup, snippet])
            reply = answers.readline()
        except OSError:
            reply = b""
        finally:
            timer.cancel()
        if expired.is_set():
            self.close()
            raise TimeoutError
        if not reply.endswith(b"\n"):
            self.close()
            raise CleanerStopped("reading it takes more memory than a page may")
        found: dict[str, str] = json.loads(reply)
        if "missing" in found:
            raise MissingPackage(found["missing"])
        if "failed" in found:
            raise CleanerStopped(f"it cannot be read ({found['failed']})")
        return Article(**found)

    def close(self) -> None:
        """Stop the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # what was still to be sent
                    pipe and pipe.close()
            process.wait()


def _send(pipe: BinaryIO, message: object) -> None:
    pipe.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    pipe.flush()


def _answer(markup: str, is_snippet: bool) -> dict[str, str]:
    try:
        return {"text": without_markup(markup)} if is_snippet else dict(vars(clean(markup)))
    except MissingPackage as error:
        return {"missing": error.package}
    except Exception as error:  # whatever a parser makes of a page
        return {"failed": type(error).__name__}


def _bound(memory_bytes: int) -> None:
    """Bound the memory of this process, and forbid it to write files, where the system supports it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def main() -> None:
    """Clean pages until the pipe closes."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # prints of a library are no answer
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _bound(int(sys.argv[1]))
    _answer("", False)  # whatever it imports is there when the first page comes
    for line in asked:
        _send(answers, _answer(*json.loads(line)))


if __name__ == "__main__":
    main()
