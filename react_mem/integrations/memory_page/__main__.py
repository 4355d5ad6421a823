"""`make ui`: the development server, with the memory page and a chat in the browser.

The chat is LangChain's Agent Chat UI, which runs by itself; it is opened if it answers, and else named.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from react_mem.integrations.memory_page.document import PATH

_READY_SECONDS = 120


def main() -> int:
    """Serve until interrupted, and open the page as soon as it is there; return the server's exit code."""
    parser = argparse.ArgumentParser(description="The development server, and the memory page beside a chat.")
    parser.add_argument("--port", type=int, default=2024, help="where to serve (2024)")
    parser.add_argument("--chat", default="http://localhost:3000", help="where the chat is (http://localhost:3000)")
    options = parser.parse_args()
    chat = options.chat.rstrip("/")
    beside = Path(sys.executable).with_name("langgraph")
    command = str(beside) if beside.exists() else shutil.which("langgraph")
    if command is None:
        sys.stderr.write("`langgraph` is not installed, which serves the page: pip install 'langgraph-cli[inmem]'\n")
        return 1
    port = free_port(options.port)
    if port != options.port:
        sys.stderr.write(f"Port {options.port} is in use, by another server perhaps; serving on {port} instead.\n")
    server = f"http://localhost:{port}"
    with subprocess.Popen([command, "dev", "--no-browser", "--port", str(port)]) as process:  # noqa: S603 - our own arguments
        # signals from outside the terminal reach this process alone
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: process.terminate())
        try:
            until = time.monotonic() + _READY_SECONDS
            while process.poll() is None and time.monotonic() < until:
                if _answers(f"{server}/ok"):
                    _open(server, chat)
                    break
                time.sleep(0.2)
            return process.wait()
        except KeyboardInterrupt:
            # the server has heard it too, and ends by itself
            return process.wait()


def free_port(wanted: int) -> int:
    """Return the wanted port, or another one if something listens there.

    `langgraph dev` would choose another one silently, and the page of a foreign server would be opened.
    """
    for port in (wanted, 0):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)) as tried:
            return int(tried.getsockname()[1])
    return wanted


def _open(server: str, chat: str) -> None:
    page = f"{server}{PATH}"
    talk = f"{chat}/?{urlencode({'apiUrl': server, 'assistantId': 'agent'})}"
    sys.stdout.write(f"\nWhat it remembers:  {page}\n")
    webbrowser.open(page)
    if _answers(chat):
        sys.stdout.write(f"Talk to it:         {talk}\n\n")
        webbrowser.open(talk)
    else:
        sys.stdout.write(
            f"Talk to it:         no chat answers at {chat}. Start LangChain's Agent Chat UI with\n"
            f"                    `npx create-agent-chat-app` (docs/page.md), then open {talk}\n\n"
        )
    sys.stdout.flush()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:  # noqa: S310 - the developer's own address
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    sys.exit(main())
