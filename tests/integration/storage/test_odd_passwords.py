"""Passwords that are not percent-encoded: nothing of them is told, or asked of a name server, by any door."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.errors import DatabaseUnavailable
from react_mem.integrations import ImportOwners, import_memories
from react_mem.memory import MemoryFacade, StorageSettings, open_memory
from react_mem.memory.opening import open_storage
from react_mem.memory.store.postgres_server import connected

HOST = "dbhost.example"
PIECES = ("Kilowattle", "Limabeanie", "Mikestand9")
SIGNS = [
    "/",
    "@",
    ":",
    "?",
    "#",
    "%zz",
    "[",
    " ",
    "'",
    "密",
    ",",
    "\udcfc",
    "/@",
    "@/",
    "%40@",
    "@?host=",
    "@:1/",
    "/?port=",
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that a name server is asked for, which has none."""
    hosts: list[str] = []

    def look_up(host: Any, *_: Any, **__: Any) -> Any:
        hosts.append(str(host))
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return hosts


def _chain(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield f"{error} {error!r} {error.args!r} {vars(error)!r}"
        yield from _chain(error.__cause__)
        error = error.__context__


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("form", ["postgresql://user:{}@{}:5432/db", "host={1} dbname=db user=user password={0}"])
async def test_nothing_of_an_odd_password_is_told_or_looked_up(
    sign: str, form: str, asked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = form.format(sign.join(PIECES), HOST)
    settings = StorageSettings.model_validate({"database_url": url})
    other = MemoryFacade(InMemoryStore())
    told = []
    for door in (open_storage(settings), open_memory(settings=settings), connected(settings)):
        with pytest.raises(DatabaseUnavailable) as caught:
            async with door:
                pass
        told += _chain(caught.value)
    with pytest.raises((DatabaseUnavailable, ValueError)) as caught:
        await import_memories(other, "langmem", url, ImportOwners(), prefix=("memories",))
    told += _chain(caught.value)
    assert set(asked) <= {HOST}
    assert not [piece for piece in PIECES for text in (*told, caplog.text) if piece in text]


@pytest.mark.parametrize("password", ["hun/ter2", "hun@ter2"])
async def test_a_refused_password_comes_with_its_cure(password: str, asked: list[str]) -> None:
    settings = StorageSettings.model_validate({"database_url": f"postgresql://user:{password}@{HOST}/db"})
    with pytest.raises(DatabaseUnavailable, match="percent-encoded"):
        async with open_storage(settings):
            pass
    assert asked == []


async def test_an_encoded_password_is_no_hindrance(asked: list[str]) -> None:
    settings = StorageSettings.model_validate({"database_url": f"postgresql://user:hun%2Fter%402@{HOST}/db"})
    with pytest.raises(DatabaseUnavailable, match=f"{HOST}:5432/db is not available"):
        async with open_storage(settings):
            pass
    assert set(asked) == {HOST}
