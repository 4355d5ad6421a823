"""`react-mem hook`: one hook of a coding agent, in a short-lived process.

It sends the event to the resident, which it starts if none runs, and prints the context for the coding agent. It never
blocks the agent: a failure costs a line on standard error, and the exit code stays 0.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from react_mem.integrations.coding_hooks.hook_place import HookPlace, is_own, place_of
from react_mem.logged_in import MAX_USER, is_user_id, user_name

# Handled events with their time limits; an event without an answer by then is stored all the same
SECONDS = {
    "SessionStart": 5.0,
    "UserPromptSubmit": 2.0,
    "Stop": 4.0,
    "PreCompact": 4.0,
    # Claude Code gives its hooks 1.5 seconds in all at the end of a session
    "SessionEnd": 1.0,
}

MAX_SECONDS = 60.0

# Fields of an event that are passed on: no tool, no folder, no mode
FIELDS = (
    "hook_event_name",
    "session_id",
    "source",
    "prompt",
    "prompt_id",
    "turn_id",
    "last_assistant_message",
    "transcript_path",
    "reason",
)

MAX_BYTES = 32 << 20  # Bytes of an event
DEFAULT_AGENT = "assistant"

_PIECE = 1 << 18
_AGENTS = "REACT_MEM_AGENTS"  # Variable with a folder of the user's own agents
_POLL = 0.01  # Seconds between two looks for a started resident
_MISUSED = 1  # Exit code for unknown arguments; 2 would stop the coding agent


class _NotNowError(Exception):
    """Reason why nothing was remembered or recalled."""


def main(arguments: Sequence[str]) -> int:
    """Run the command with the arguments after `react-mem hook`, and return its exit code."""
    if not arguments:
        return run(user_name(), DEFAULT_AGENT, None)
    # it takes as long as the rest of this process
    from argparse import ArgumentParser

    parser = ArgumentParser("react-mem hook", usage=_USAGE, description=_HELP, allow_abbrev=False)
    parser.add_argument("--user", type=_user, help="whose memory; by default the name you are logged in by")
    agent = f"the agent whose policy and models count, by name or as a YAML file; by default {DEFAULT_AGENT}"
    parser.add_argument("--agent", default=DEFAULT_AGENT, help=agent)
    seconds = f"how long the coding agent waits, at most {MAX_SECONDS:.0f}; by default 1 to 5, by the event"
    parser.add_argument("--seconds", type=_seconds, help=seconds)
    try:
        given = parser.parse_args(arguments)
    except SystemExit as ended:
        return _MISUSED if ended.code else 0
    return run(given.user or user_name(), given.agent or DEFAULT_AGENT, given.seconds)


def run(user_id: str, agent: str, seconds: float | None) -> int:
    """Read an event from the standard input, print the answer, and return 0, also after a failure.

    The user is never taken from the event. Without `seconds` the limits of `SECONDS` hold.
    """
    try:
        output = _answer(user_id, agent, seconds)
    except _NotNowError as problem:
        sys.stderr.write(f"react-mem: {problem}\n")
    except OSError as error:
        sys.stderr.write(f"react-mem: the hook failed: {error.filename or 'its socket'}: {error.strerror or error}\n")
    except Exception as error:
        # without its text, which may quote the conversation
        sys.stderr.write(f"react-mem: the hook failed ({type(error).__name__})\n")
    else:
        if output:
            sys.stdout.buffer.write(output.encode("utf-8", "replace") + b"\n")
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    return 0


_USAGE = "react-mem hook [--user USER] [--agent AGENT] [--seconds SECONDS] < event.json"
_HELP = (
    "Answers one hook of a coding agent: it reads the event from standard input and prints what the agent is to have "
    "in its context. What fails costs a line on standard error, and never stops the coding agent."
)


def _user(value: str) -> str:
    return value if is_user_id(value) else _refuse(value, f"a name of 1 to {MAX_USER} printable characters")


def _seconds(value: str) -> float:
    is_fitting = value.replace(".", "", 1).isdecimal() and 0 < float(value) <= MAX_SECONDS
    return float(value) if is_fitting else _refuse(value, f"a number above 0, up to {MAX_SECONDS:.0f}")


def _refuse(value: str, wanted: str) -> NoReturn:
    from argparse import ArgumentTypeError

    raise ArgumentTypeError(f"cannot be {value[:100]!r}: it takes {wanted}")


def _answer(user_id: str, agent: str, seconds: float | None) -> str:
    told_at = time.monotonic_ns()
    event = _event()
    name = event.get("hook_event_name")
    # a subagent is asked by the main agent, not by the user
    if not isinstance(name, str) or name not in SECONDS or event.get("agent_id"):
        return ""
    if not isinstance(event.get("session_id"), str) or not event["session_id"]:
        raise _NotNowError("the event names no session")
    if os.name == "nt":
        raise _NotNowError("hooks need Unix sockets, which Python does not have on Windows; use WSL")
    deadline = time.monotonic() + (seconds or SECONDS[name])
    if agent.endswith((".yaml", ".yml")):
        agent = os.path.abspath(agent)
    size = _size(event.get("transcript_path"))
    event = {field: event[field] for field in FIELDS if event.get(field) is not None}
    asked = {"user": user_id, "event": event, "told_at": told_at, "transcript_bytes": size}
    place = place_of(agent)
    os.chdir(place.folder)
    try:
        answer = _asked(place, agent, json.dumps(asked).encode(), deadline)
    except Exception:
        _owe(place, user_id, event, size)
        raise
    if answer.get("problem"):
        sys.stderr.write(f"react-mem: {answer['problem']}\n")
        _owe(place, user_id, event, size)
    return str(answer.get("output") or "")


def _asked(place: HookPlace, agent: str, asked: bytes, deadline: float) -> dict[str, Any]:
    for attempt in range(2):
        connection = _connected(place, agent, deadline)
        try:
            return _exchanged(connection, asked, deadline)
        except (ConnectionError, EOFError):
            # it was about to end, or has crashed; nothing is stored twice
            if attempt:
                raise _NotNowError("the process that holds memory has crashed; its log says why") from None
        finally:
            connection.close()
    return {}


def _size(transcript: Any) -> int | None:
    if not isinstance(transcript, str) or not transcript:
        return None
    try:
        return os.stat(os.path.expanduser(transcript)).st_size
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return None


def _owe(place: HookPlace, user_id: str, event: Mapping[str, Any], size: int | None) -> None:
    from react_mem.integrations.coding_hooks.owed_notes import owe

    offset = size or 0
    match event["hook_event_name"]:
        case "SessionStart" if event.get("source") not in ("startup", "clear"):
            return
        case "UserPromptSubmit" | "SessionStart":
            pass
        case _:
            # its turn is the one that has been going on
            offset = max(offset - 1, 0)
    with contextlib.suppress(OSError):
        owe(place.folder, user_id, event["session_id"], offset)


def _event() -> dict[str, Any]:
    told = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(told) > MAX_BYTES:
        raise _NotNowError(f"the event is longer than {MAX_BYTES >> 20} MB")
    try:
        event = json.loads(told)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise _NotNowError("standard input holds no event of a hook: a JSON object is expected")
    return event


def _connected(place: HookPlace, agent: str, deadline: float) -> socket.socket:
    start: Callable[[], None] | None = lambda: _start(place, agent)  # noqa: E731 - started once
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(max(deadline - time.monotonic(), _POLL))
        try:
            connection.connect(place.socket)
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            connection.close()
        except TimeoutError:
            connection.close()
            raise _too_long() from None
        else:
            if is_own(connection):
                return connection
            connection.close()
            raise _NotNowError("the process behind the socket is somebody else's")
        if start is not None and not _is_held(place.lock):
            start()
            start = None
        if time.monotonic() > deadline:
            raise _too_long()
        time.sleep(_POLL)


def _exchanged(connection: socket.socket, asked: bytes, deadline: float) -> dict[str, Any]:
    try:
        connection.sendall(asked)
        connection.shutdown(socket.SHUT_WR)
        pieces = []
        while True:
            connection.settimeout(max(deadline - time.monotonic(), _POLL))
            piece = connection.recv(_PIECE)
            if not piece:
                break
            pieces.append(piece)
    except TimeoutError:
        raise _too_long() from None
    if not pieces:
        raise EOFError
    answer: dict[str, Any] = json.loads(b"".join(pieces))
    return answer


def _is_held(lock: str) -> bool:
    import fcntl

    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _start(place: HookPlace, agent: str) -> None:
    import subprocess

    _refuse_unknown(agent, place.home)

    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        subprocess.Popen(  # noqa: S603 - the command is our own
            # no module of the folder it starts in is imported in the place of ours
            [sys.executable, "-P", "-m", "react_mem.integrations.coding_hooks.resident", "--agent", agent],
            cwd=place.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


def _refuse_unknown(agent: str, home: str) -> None:
    """Refuse an unknown agent at once: a resident loads for seconds before it can say so."""
    if os.path.isabs(agent):
        if not os.path.isfile(agent):
            raise _NotNowError(f"there is no file {agent}, which --agent names")
        return
    if os.environ.get(_AGENTS) or os.path.exists(os.path.join(home, ".env")):
        # there may be more, and the resident knows them
        return
    shipped = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "agents")
    names = sorted(name[:-5] for name in os.listdir(shipped) if name.endswith(".yaml"))
    if agent not in names:
        raise _NotNowError(f"unknown agent {agent[:100]!r}, which --agent names; there are {', '.join(names)}")


def _too_long() -> _NotNowError:
    return _NotNowError("memory takes too long; the coding agent goes on without")
