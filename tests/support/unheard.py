"""Hear what react-mem's processes send where nothing leaves: in a network namespace with no other machine.

`python -m tests.support.unheard FOLDER` in a namespace of its own (see `namespace`) starts the demo, `make dev`, a
worker, an MCP server and a hook's resident at once, has each embed something, and prints as JSON whom they looked up or
called, and which of them had loaded onnxruntime.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage

from react_mem.memory import MemoryFacade, MemoryPolicy, StorageSettings
from react_mem.memory.runtime import open_storage
from react_mem.memory.write.turns import Turns
from tests.support.dev_server import ROOT, _project_config

_CONTROL = ("heard.example", "192.0.2.1")
"""Whom we call ourselves, to know that it would be heard."""

_SAID = "My cat is called Mimi."
_ALL_PROTOCOLS = 3
_DNS = 53
_READY_SECONDS = 180
SECONDS = 20.0
"""Seconds that is listened for, once all of them have embedded something."""

ENTRIES = {"demo": "demo", "dev": "spawn_main", "worker": "worker", "mcp": "mcp", "hook": "resident"}
"""Entries, and a word of the command lines of the processes that embed for them."""


def namespace() -> list[str]:
    """Return the command that runs another in namespaces of its own, all of whose processes end with it."""
    mine = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
    return ["unshare", *mine, "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


def _name(packet: bytes) -> str:
    """Return the name that a DNS packet asks for."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode(errors="replace"))
        at += 1 + packet[at]
    return ".".join(labels)


def _sent(packet: bytes) -> str | None:
    """Return whom a packet is for; None if it stays on the loopback addresses, and asks for no name."""
    address: IPv4Address | IPv6Address
    if packet[0] >> 4 == 4:
        protocol, address, rest = packet[9], IPv4Address(packet[16:20]), packet[(packet[0] & 15) * 4 :]
    else:
        protocol, address, rest = packet[6], IPv6Address(packet[24:40]), packet[40:]
    port = struct.unpack("!H", rest[2:4])[0] if protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP) else 0
    if protocol == socket.IPPROTO_UDP and port == _DNS:
        return _name(rest[8:])
    # what is refused is told to whoever asked, by the address that was asked
    return None if address.is_loopback or protocol in (1, 58) else f"{address}:{port}"


def _hear(ears: socket.socket, heard: dict[str, None]) -> None:
    while True:
        packet = ears.recv(65_535)
        with suppress(IndexError, struct.error):
            if (to := _sent(packet)) is not None:
                heard[to] = None


def _embedding() -> set[str]:
    """Return the entries whose processes have loaded onnxruntime."""
    found = set()
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and "onnxruntime" in (process / "maps").read_text():
                command = (process / "cmdline").read_text().split("\0")
                found |= {entry for entry, word in ENTRIES.items() if any(word in part for part in command)}
    return found


def _is_control(name: str) -> bool:
    return name.startswith(_CONTROL)


def _say() -> None:
    """Say something to the server of `make dev`, as soon as it answers."""
    body = json.dumps({"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": _SAID}]}})
    asked = urllib.request.Request(
        "http://127.0.0.1:2024/runs/wait", body.encode(), {"content-type": "application/json"}
    )
    while True:
        with suppress(OSError), urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - our own server
            answer.read()
            return
        time.sleep(0.5)


async def _leave_work(data: Path) -> None:
    """Leave a turn that nobody has drawn from."""
    async with open_storage(StorageSettings(data_dir=data)) as storage:
        memory = MemoryFacade(storage.store, MemoryPolicy.model_validate({"extraction": {"debounce": 0}}))
        turns = Turns(memory, None, "ann", "monday", "assistant")
        await turns.close([HumanMessage(_SAID, id="q"), AIMessage("Noted.", id="a")], None)


def _start(folder: Path) -> dict[str, subprocess.Popen[bytes]]:
    """Start the entries, and say to each what it takes."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    home = folder / "home"
    told = {"HOME": str(home), "REACT_MEM_DATA_DIR": str(folder / "data"), "OMP_NUM_THREADS": "1"}
    environment = {**kept, **told, "PYTHONPATH": str(ROOT)}
    project = folder / "project"
    project.mkdir()
    (project / "langgraph.json").write_text(json.dumps(_project_config()), encoding="utf-8")
    home.mkdir()
    beside = Path(sys.executable).parent
    command = str(beside / "react-mem")

    def start(name: str, *arguments: str, says: str | None = None) -> subprocess.Popen[bytes]:
        # the worker finds its work elsewhere, where nobody else does it
        own = {**environment, **({"REACT_MEM_DATA_DIR": str(folder / "left")} if name == "worker" else {})}
        with (folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(arguments, cwd=project, env=own, stdin=subprocess.PIPE, stdout=log, stderr=log)
        assert started.stdin is not None
        if says is not None:
            started.stdin.write(says.encode())
            started.stdin.flush()
        return started

    lines = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "remember", "arguments": {"text": _SAID, "said": _SAID}}},
    ]
    lines[0]["params"]["clientInfo"] = {"name": "t", "version": "1"}  # type: ignore[index]
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "one", "cwd": str(folder), "prompt": _SAID}
    started = {
        "dev": start("dev", "make", "-f", str(ROOT / "Makefile"), f"BIN={beside}", "INSTALLED=", "dev"),
        "worker": start("worker", command, "worker"),
        "demo": start("demo", command, "demo"),
        "mcp": start(
            "mcp",
            command,
            "mcp",
            "--user",
            "ann",
            says="".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in lines),
        ),
    }
    hook = start("hook", command, "hook", "--seconds", "60", "--user", "ann", says=json.dumps(event))
    assert hook.stdin is not None
    hook.stdin.close()
    return {**started, "hook": hook}


def main() -> None:
    """Listen, start them, and print what was heard."""
    folder = Path(sys.argv[1])
    # every address is here, and nobody outside is asked over a socket file
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "route", "add", "local", "0.0.0.0/0", "dev", "lo"], check=True)
    subprocess.run(["ip", "-6", "route", "add", "local", "::/0", "dev", "lo"], check=False)
    heard: dict[str, None] = {}
    ears = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS))
    ears.bind(("lo", 0))
    threading.Thread(target=_hear, args=(ears, heard), daemon=True).start()
    for known in _CONTROL:
        with suppress(OSError):
            socket.create_connection((known, 80), 5)
    asyncio.run(_leave_work(folder / "left"))
    started = _start(folder)
    threading.Thread(target=_say, daemon=True).start()
    embedded: set[str] = set()
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until and len(embedded) < len(ENTRIES) and all(map(_is_control, list(heard))):
        time.sleep(0.2)
        embedded |= _embedding()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and all(map(_is_control, list(heard))):
        time.sleep(0.2)
    ended = {name: process.poll() for name, process in started.items()}
    control = list(filter(_is_control, list(heard)))
    told = {"control": control, "heard": [name for name in heard if name not in control], "ended": ended}
    told["embedded"] = sorted(embedded)
    sys.stdout.write(json.dumps(told))


def unavailable() -> str:
    """Return why no namespace can be made here; empty where one can be."""
    for tool in ("unshare", "ip", "make"):
        if shutil.which(tool) is None:
            return f"there is no `{tool}`"
    tried = subprocess.run([*namespace(), "mount", "-t", "tmpfs", "none", "/run"], capture_output=True, check=False)
    return tried.stderr.decode(errors="replace").strip() if tried.returncode else ""


if __name__ == "__main__":
    main()
