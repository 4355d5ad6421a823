"""Encryption of a database in use: sealing, and rotation of its keys, while its owners read and write.

    python -m benchmarks.rotation --rows 100000 --json results/rotation.json

Owners write, read and search all the time. Meanwhile all plain rows are sealed, the master key is replaced, and every
owner gets a new data key. In the end every memory is read and compared with its last write.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from langgraph.store.base import PutOp

from benchmarks.databases import database_server, new_database
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, flat, print_table, write_json
from benchmarks.stand_ins import DIMS, words
from react_mem.memory.store.key_ring import KeyRing, rewrap
from react_mem.memory.store.master_key import LocalMasterKey, MasterKey
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.resealing import reseal, rotate
from tests.support.databases import open_memory_store, open_pool, word_model

_OWNER_ROWS = 1_000
_BATCH = 500
_WRITERS = 4

_PAUSE = 0.1
"""Seconds between a user's turns: the benchmark measures waiting, not the capacity of the machine."""

_BEFORE = 3.0
"""Seconds of load alone, as the baseline."""
Item = tuple[tuple[str, ...], str]
Work = Callable[[MemoryStore, KeyRing], Awaitable[float]]


class _Load:
    """Owners who write, read and search; `written` holds the last write of each item."""

    def __init__(self, store: MemoryStore, written: dict[Item, str], owners: int) -> None:
        self._store = store
        self._written = written
        self._owners = owners
        self._new = itertools.count()
        self.seconds: list[float] = []
        self.wrong = 0

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        stopped = asyncio.Event()
        tasks = [asyncio.create_task(self._use(number, stopped)) for number in range(_WRITERS)]
        try:
            yield
        finally:
            stopped.set()
            await asyncio.gather(*tasks)

    async def _use(self, number: int, stopped: asyncio.Event) -> None:
        # each has owners of its own, so that what it reads is what it wrote last
        chance = random.Random(number)
        owners = range(number, self._owners, _WRITERS)
        while not stopped.is_set():
            owner = chance.choice(owners)
            namespace = ("memory", f"owner{owner}", "semantic")
            key = f"new{next(self._new)}" if chance.random() < 0.2 else f"m{chance.randrange(_OWNER_ROWS)}"
            text = words(f"{key} {time.perf_counter_ns()}", 10)
            started = time.perf_counter()
            await self._store.aput(namespace, key, _value(key, text))
            found = await self._store.aget(namespace, key)
            await self._store.asearch(namespace, query=text, limit=5)
            self.seconds.append(time.perf_counter() - started)
            self._written[namespace, key] = text
            self.wrong += found is None or found.value["text"] != text
            await asyncio.sleep(_PAUSE)


def _value(key: str, text: str) -> dict[str, Any]:
    return {"kind": "fact", "id": key, "text": text, "current": True}


async def measure(rows: int) -> tuple[dict[str, Metrics], Metrics]:
    owners = max(_WRITERS, rows // _OWNER_ROWS)
    written: dict[Item, str] = {}
    old, new = os.urandom(32), os.urandom(32)
    steps: dict[str, Metrics] = {}
    wrong = 0
    async with database_server() as server:
        url = await new_database(server, "rotation")
        async with open_memory_store(url, word_model(DIMS)) as plain:
            await _fill(plain, written, rows, owners)

        async def step(name: str, master: MasterKey, work: Work) -> None:
            nonlocal wrong
            async with _opened(url, master) as (store, ring):
                load = _Load(store, written, owners)
                async with load.going_on():
                    await asyncio.sleep(_BEFORE)
                    quiet, started = len(load.seconds), time.perf_counter()
                    done = await work(store, ring)
                    seconds = time.perf_counter() - started
                wrong += load.wrong
                steps[name] = {"seconds": seconds, "done": done}
                for when, taken in (("beside", load.seconds[quiet:]), ("before", load.seconds[:quiet])):
                    for percent in (50, 95):
                        steps[name][f"p{percent}_ms_{when}"] = 1_000 * float(np.percentile(taken or [0.0], percent))

        await step("seal what is in plain", MasterKey(LocalMasterKey(old)), _seal)
        await step("another master key", MasterKey(LocalMasterKey(new), [LocalMasterKey(old)]), _rewrap)
        await step("new data keys", MasterKey(LocalMasterKey(new)), _renew)
        async with _opened(url, MasterKey(LocalMasterKey(new))) as (store, _):
            lost = await _lost(store, written)
    return steps, {"memories": float(len(written)), "lost": float(lost), "read_wrong": float(wrong)}


@asynccontextmanager
async def _opened(url: str, master: MasterKey) -> AsyncIterator[tuple[MemoryStore, KeyRing]]:
    async with open_pool(url) as pool:
        ring = KeyRing(pool, master)
        await ring.check()
        store = MemoryStore(pool, word_model(DIMS), keys=ring)
        async with store:
            yield store, ring


async def _fill(store: MemoryStore, written: dict[Item, str], rows: int, owners: int) -> None:
    for owner in counted(range(owners), "Writing", "owners"):
        namespace = ("memory", f"owner{owner}", "semantic")
        for start in range(0, rows // owners, _BATCH):
            puts = []
            for number in range(start, min(start + _BATCH, rows // owners)):
                text = words(f"{owner} {number}", 10)
                written[namespace, f"m{number}"] = text
                puts.append(PutOp(namespace, f"m{number}", _value(f"m{number}", text)))
            await store.abatch(puts)


async def _seal(store: MemoryStore, ring: KeyRing) -> float:
    return (await reseal(store.pool, ring, lambda done, total: None)).from_plain


async def _rewrap(store: MemoryStore, ring: KeyRing) -> float:
    return await rewrap(store.pool, ring.master, lambda done, total: None)


async def _renew(store: MemoryStore, ring: KeyRing) -> float:
    done, _ = await rotate(store.pool, ring, lambda done, total: None)
    return done.anew


async def _lost(store: MemoryStore, written: dict[Item, str]) -> int:
    found: dict[Item, str] = {}
    for namespace in {namespace for namespace, _ in written}:
        behind = ("", "")
        while (page := await store.apage(namespace[:2], behind, _BATCH)).items:
            found |= {(item.namespace, item.key): item.value["text"] for item in page.items}
            behind = page.behind
    return sum(found.get(item) != text for item, text in written.items()) + len(found.keys() - written.keys())


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("rotation", __doc__)
    command.add_argument("--rows", type=int, default=100_000, help="memories")
    told = command.parse_args(argv)
    steps, metrics = asyncio.run(measure(told.rows))
    print_table(f"{told.rows} memories", tuple(next(iter(steps.values()))), steps)
    print_table("In the end", tuple(metrics), {"react_mem": metrics})
    write_json(told.json, {**metrics, **flat(steps)}, {}, vars(told))


if __name__ == "__main__":
    main()
