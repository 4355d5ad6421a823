"""The port that `make ui` serves on: never that of another server."""

from __future__ import annotations

import socket

from react_mem.graphs.memory_page.__main__ import free_port


def test_a_port_in_use_is_left_to_whoever_has_it() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert free_port(taken) not in (0, taken)
    assert free_port(taken) == taken
