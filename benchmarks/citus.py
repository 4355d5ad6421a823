"""Memory on a Citus cluster: the same results as on one server, one shard a statement, and the cost of a failure.

    python -m benchmarks.citus --postgres FOLDER --json results/citus.json [--owners 200] [--memories 10]
        [--seconds 60]

FOLDER holds a PostgreSQL (`bin`, `lib`) with Citus and pgvector. The cluster runs on this machine: a coordinator, two
workers, and a third worker that joins later. It is filled as one server, queried, distributed, and queried again. Then
two writers and four readers work for `--seconds`, while a worker is killed and restarted, and the third one joins and
gets its share. At the end every acknowledged write is looked up.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from benchmarks.databases import opened
from benchmarks.load import user_name
from benchmarks.measures import p50_p95
from benchmarks.progress import interruptible
from benchmarks.report import Command, write_json
from benchmarks.stand_ins import HashEmbeddings, memories, words
from benchmarks.stand_ins import write as write_all
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import Fact, now, record_id
from react_mem.memory.opening import Storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.postgres_server import distribute
from tests.support.citus_cluster import Server, cluster
from tests.support.shard_tasks import tasks_of_a_turn

_SCOPES = [MemoryScope.SEMANTIC, MemoryScope.DIALOG, MemoryScope.EPISODIC]
_WRITERS, _READERS = 2, 4
_SAMPLE = 100
_DOWN_SECONDS = 5.0
_OPTIONS: Any = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}


@dataclass
class Tally:
    """Results of the load: milliseconds by operation, errors by phase of the cluster, and acknowledged writes."""

    phase: str = "steady"
    times: dict[str, list[float]] = field(default_factory=lambda: {"read": [], "write": []})
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    written: list[tuple[str, str]] = field(default_factory=list)

    async def measure(self, what: str, work: Awaitable[Any]) -> Any:
        """Time an operation; return its result, None if it failed."""
        phase, start = self.phase, time.perf_counter()
        try:
            result = await work
        except Exception as error:
            # each is a result
            self.errors[phase if phase == self.phase else "outage", f"{type(error).__name__}: {error}"[:300]] += 1
            return None
        self.times[what].append((time.perf_counter() - start) * 1000)
        return result


def asked(user_id: str, query: str) -> MemoryQuery:
    return MemoryQuery(user_id=user_id, session_id="load", agent_id="benchmark", scopes=_SCOPES, query=query)


async def fill(memory: MemoryFacade, owners: int, each: int) -> float:
    start = time.perf_counter()
    changes = (put(user_name(n), record) for n in range(owners) for _, record in memories(user_name(n), each))
    await write_all(memory, changes)
    return owners * each / (time.perf_counter() - start)


async def answers(memory: MemoryFacade, owners: int, each: int) -> list[list[tuple[str, float]]]:
    chance = random.Random(1)
    found = []
    for _ in range(_SAMPLE):
        user_id = user_name(chance.randrange(owners))
        known = [record.text for _, record in memories(user_id, each)]
        results = await memory.read(asked(user_id, chance.choice(known)))
        found.append([(str(item.payload["id"]), round(item.score or 0, 5)) for item in results])
    return found


async def load(storage: Storage, tally: Tally, owners: int, each: int, stop: asyncio.Event) -> None:
    memory = MemoryFacade(storage.store)

    async def write(number: int) -> None:
        chance, count = random.Random(number), 0
        while not stop.is_set():
            count += 1
            user_id, seed = user_name(chance.randrange(owners)), f"written {number} {count}"
            told: Any = {"session_id": "load", "agent_id": "benchmark", "created_at": now()}
            fact = Fact(id=record_id(seed), text=words(seed, 10), **told)
            if await tally.measure("write", _true(memory.apply([put(user_id, fact)]))):
                tally.written.append((user_id, fact.id))

    async def read(number: int) -> None:
        chance = random.Random(-number)
        while not stop.is_set():
            user_id = user_name(chance.randrange(owners))
            known = [record for _, record in memories(user_id, each)]
            wanted = chance.choice(known)
            found = await tally.measure("read", memory.read(asked(user_id, wanted.text)))
            if found is not None and wanted.id not in {item.payload["id"] for item in found}:
                tally.errors[tally.phase, "a memory was not found by its own words"] += 1

    await asyncio.gather(*map(write, range(_WRITERS)), *map(read, range(_READERS)))


async def _true(work: Awaitable[None]) -> bool:
    await work
    return True


async def change_nodes(servers: Sequence[Server], tally: Tally, seconds: float) -> dict[str, float]:
    """Kill and restart a worker, then add another one, with rests between; return the duration of each."""
    coordinator, victim, newcomer = servers[0], servers[1], servers[-1]
    await asyncio.sleep(seconds / 3)
    tally.phase = "outage"
    await victim.end(signal.SIGQUIT)
    await asyncio.sleep(_DOWN_SECONDS)
    start = time.perf_counter()
    await victim.start()
    back = time.perf_counter() - start
    await asyncio.sleep(1)  # connections that died are found out when they are used
    tally.phase = "recovered"
    await asyncio.sleep(seconds / 3)
    tally.phase = "rebalancing"
    start = time.perf_counter()
    async with await AsyncConnection[DictRow].connect(coordinator.url, **_OPTIONS) as conn:
        await conn.execute("SELECT citus_add_node('127.0.0.1', %s)", (newcomer.port,))
        await conn.execute("SELECT citus_rebalance_start()")
        await conn.execute("SELECT citus_rebalance_wait()")
    moved = time.perf_counter() - start
    await asyncio.sleep(seconds / 3)
    return {"restart_s": round(back, 1), "rebalance_s": round(moved, 1)}


async def run(programs: Path, owners: int, each: int, seconds: float) -> dict[str, float]:
    metrics: dict[str, float] = {"owners": owners, "memories": owners * each}
    with tempfile.TemporaryDirectory() as folder:
        async with cluster(programs, Path(folder), 3) as servers:
            url = servers[0].url
            async with opened(url, HashEmbeddings()) as storage:
                memory = MemoryFacade(storage.store)
                metrics["fill_memories_per_s"] = round(await fill(memory, owners, each), 1)
                before = await answers(memory, owners, each)
            start = time.perf_counter()
            await distribute(StorageSettings.model_validate({"database_url": url}), print)
            metrics["distribute_s"] = round(time.perf_counter() - start, 1)
            async with opened(url, HashEmbeddings()) as storage:
                after = await answers(MemoryFacade(storage.store), owners, each)
                metrics["different_answers"] = sum(one != other for one, other in zip(before, after, strict=True))
                tasks = await tasks_of_a_turn(storage, url)
                for statement, count in tasks.items():
                    if count > 1:
                        print(f"{count} tasks: {statement}")
                metrics["turn_statements"] = len(tasks)
                metrics["turn_statements_over_one_shard"] = sum(count > 1 for count in tasks.values())
                metrics |= await under_load(storage, servers, owners, each, seconds)
    return metrics


async def under_load(
    storage: Storage, servers: Sequence[Server], owners: int, each: int, seconds: float
) -> dict[str, float]:
    tally, stop = Tally(), asyncio.Event()
    start = time.perf_counter()
    working = asyncio.create_task(load(storage, tally, owners, each, stop))
    try:
        metrics = await change_nodes(servers, tally, seconds)
    finally:
        stop.set()
        await working
    took = time.perf_counter() - start
    for (phase, error), count in tally.errors.items():
        print(f"{phase}: {count} x {error}")
    port = str(servers[1].port)
    named = sum(n for (phase, error), n in tally.errors.items() if phase == "outage" and port in error)
    outage = sum(n for (phase, _), n in tally.errors.items() if phase == "outage")
    kept = 0
    for user_id, key in tally.written:
        kept += await storage.store.aget(("memory", user_id, "semantic"), key) is not None
    return metrics | {
        "seconds": round(took, 1),
        "reads_per_s": round(len(tally.times["read"]) / took, 1),
        "writes_per_s": round(len(tally.times["write"]) / took, 1),
        **p50_p95("read", tally.times["read"]),
        **p50_p95("write", tally.times["write"]),
        "errors": sum(tally.errors.values()) - outage,
        "outage_errors": outage,
        "outage_errors_naming_the_node": named,
        "acknowledged": len(tally.written),
        "lost": len(tally.written) - kept,
    }


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("citus", __doc__)
    command.add_argument("--postgres", type=Path, required=True, help="folder of a PostgreSQL with Citus and pgvector")
    command.add_argument("--owners", type=int, default=200)
    command.add_argument("--memories", type=int, default=10, help="of each owner")
    command.add_argument("--seconds", type=float, default=60.0, help="of load, not counting outage and rebalancing")
    told = command.parse_args(argv)
    os.environ.setdefault("OPENAI_API_KEY", "")
    metrics = asyncio.run(run(told.postgres / "bin", told.owners, told.memories, told.seconds))
    print(metrics)
    write_json(told.json, metrics, {}, {})


if __name__ == "__main__":
    main()
