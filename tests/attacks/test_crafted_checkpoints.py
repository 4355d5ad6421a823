"""Rows of the server's own checkpoints, as somebody writes them who wants to run code: they do nothing."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.errors import APIStatusError

from tests.support.crafted import crafted
from tests.support.dev_server import DevServer

pytestmark = pytest.mark.e2e

_WRITES, _BLOBS = ".langgraph_checkpoint.2.pckl", ".langgraph_checkpoint.3.pckl"
LENIENT = "who can write to their database runs code here"


async def test_crafted_rows_run_nothing_in_a_server(open_server: DevServer, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    values = crafted(canary)
    client = open_server.client()

    async def say(thread: str, text: str, *, raise_error: bool = True) -> None:
        said = {"messages": [("user", text)]}
        await client.runs.wait(thread, "react", input=said, raise_error=raise_error)

    threads = [(await client.threads.create())["thread_id"] for _ in values]
    await asyncio.gather(*(say(thread, attack) for thread, attack in zip(threads, values, strict=True)))
    assert LENIENT not in open_server.log()
    open_server.stop()
    of_thread = dict(zip(threads, values.values(), strict=True))
    reached: set[str] = set()

    def in_place_of(thread: str, held: Any) -> Any:
        if thread not in of_thread:
            return held
        reached.add(thread)
        return of_thread[thread]

    _change(open_server.folder, _BLOBS, lambda key, held: in_place_of(key[0], held))
    _change(
        open_server.folder,
        _WRITES,
        lambda key, held: {
            place: (task, channel, in_place_of(key[0], value), path)
            for place, (task, channel, value, path) in held.items()
        },
    )
    open_server.start()
    assert reached == set(threads)
    await asyncio.gather(*(say(thread, "and now?", raise_error=False) for thread in threads))
    for thread in threads:
        # a pickle is refused, the rest is shown as the data that it is
        with suppress(APIStatusError):
            await client.threads.get_history(thread)
    assert not canary.exists()
    # others attack this server after it: what nobody can read is not to stay
    for thread in threads:
        await client.threads.delete(thread)


def _change(folder: Path, name: str, changed: Callable[[Any, Any], Any]) -> None:
    file = folder / ".langgraph_api" / name
    rows = pickle.loads(file.read_bytes())  # noqa: S301 - what the server itself has written
    assert rows
    file.write_bytes(pickle.dumps({key: changed(key, held) for key, held in rows.items()}, 2))
