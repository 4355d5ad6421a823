"""The place of a resident: whose it is, what it is for, and clients that meet something else there."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from react_mem.integrations.coding_hooks.hook_place import HookPlace, is_own, place_of
from tests.support.coding_agent import CodingAgent

EVENT = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "I live in Hue."}).encode()


@pytest.fixture
def agent(tmp_path: Path) -> CodingAgent:
    return CodingAgent(tmp_path, {"EMBEDDING_MODEL": "local"})


@pytest.fixture
def place(agent: CodingAgent, monkeypatch: pytest.MonkeyPatch) -> HookPlace:
    """The place that a hook of the agent goes to."""
    monkeypatch.setenv("HOME", str(agent.home))
    return place_of("assistant", agent.environment)


@contextmanager
def somebody_at(place: HookPlace, answer: bytes | None) -> Iterator[None]:
    """Stand in for a resident: answer everybody with this; None for one that never answers."""
    here = os.getcwd()
    os.chdir(place.folder)
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(place.socket)
    listening.listen()
    os.chdir(here)

    def serve() -> None:
        held = []
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            held.append(connection)
            if answer is not None:
                while connection.recv(1 << 16):
                    pass
                connection.sendall(answer)
                connection.close()

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        serving.join(10)
        os.close(lock)


def test_nobody_else_can_enter_it(place: HookPlace, agent: CodingAgent) -> None:
    os.chmod(place.folder, 0o750)  # noqa: S103 - it is what is mended
    assert place_of("assistant", agent.environment) == place
    assert os.stat(place.folder).st_mode & 0o777 == 0o700
    os.rmdir(place.folder)
    elsewhere = agent.home / "elsewhere"
    elsewhere.mkdir()
    os.symlink(elsewhere, place.folder)
    with pytest.raises(PermissionError, match="not a folder of this user's own"):
        place_of("assistant", agent.environment)
    done = agent.run(EVENT)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"PermissionError" in done.stderr or b"of this user's own" in done.stderr


def test_each_end_knows_whose_the_other_is(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert is_own(one)
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
        assert not is_own(one)


def test_a_memory_that_does_not_answer_is_not_waited_for(place: HookPlace, agent: CodingAgent) -> None:
    with somebody_at(place, None):
        done = agent.run(EVENT, "--seconds", "0.2")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"react-mem: memory takes too long; the coding agent goes on without\n"
    # nor is one that is about to begin, or to end
    os.unlink(os.path.join(place.folder, place.socket))
    lock = os.open(os.path.join(place.folder, place.lock), os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    done = agent.run(EVENT, "--seconds", "0.2")
    os.close(lock)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (0, b"", 1)
    assert agent.residents() == []


@pytest.mark.parametrize("answer", [b"\xff{", b'{"output": 7, "problem": "away"}'])
def test_an_answer_that_is_none_stops_nobody(place: HookPlace, agent: CodingAgent, answer: bytes) -> None:
    with somebody_at(place, answer):
        done = agent.run(EVENT)
    assert done.returncode == 0
    assert done.stdout in (b"", b"7\n")
    assert done.stderr.startswith(b"react-mem: ")
    assert b"Hue" not in done.stderr
