"""Time and size of the graph of one user's memories.

    python -m benchmarks.graph_reads --json results/graph_reads.json [--records 10000] [--reads 300]

A user has so many memories on the embedded PostgreSQL: of a hundred 70 are messages, in conversations of twenty, 20
facts, 4 episodes, 3 summaries and 3 skills, each with sources among what was there before it, and some facts that say
something alike. No model is called and nothing embedded: links are looked up by key.

`neighbours`, `expand`, `rank` and `explain` are what `memory.graph` does: the links of a memory; what is within two of
them of ten others, 150 memories at most; the same ranked by personalised PageRank; and the shortest way between two
memories. `page_rank` is the walk alone, without reading. `whole` is all memories with all links, as an export has them.
`turn` is the transaction behind a turn of two messages, a step, two facts, an episode and a summary.
`bytes_per_memory` is what the indexes take by which links are derived.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.locomo.databases import new_database
from benchmarks.locomo.metrics import percentile
from benchmarks.progress import interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory.graph.traverse import page_rank
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.records import Episode, Fact, Level, Message, Record, Summary, record_id
from react_mem.memory.model.skills import Skill, StepExperience
from react_mem.memory.opening import open_storage
from react_mem.memory.retrieval.graph_reading import MemoryGraph
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embedded import embedded_database
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.transactions import transact

USER = "ann"
TURNS = 20
"""Messages of a conversation."""

SEEDS = 10
WRITTEN_AT_ONCE = 1_000
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

Scoped = tuple[MemoryScope, Record]


def memories(count: int, chance: random.Random) -> Iterator[Scoped]:
    """Yield memories in the order in which they would come about.

    Args:
        count: How many.
        chance: What they come from.
    """
    said: list[str] = []
    drawn: list[str] = []
    for number in range(count):
        of_a_hundred = number * 37 % 100  # each kind spread over the whole
        conversation = f"conversation-{len(said) // TURNS}"
        at = _BEGIN + timedelta(minutes=number)
        latest = said[-TURNS:]
        if of_a_hundred < 70 or not said:
            one = message(conversation, len(said) % TURNS, at)
            said.append(one.id)
            yield MemoryScope.DIALOG, one
        elif of_a_hundred < 90:
            fact_ = fact(f"{number}", chance.sample(said, min(len(said), chance.choice((1, 1, 1, 2, 5)))), at)
            drawn.append(fact_.id)
            yield MemoryScope.SEMANTIC, fact_
        elif of_a_hundred < 94:
            yield MemoryScope.EPISODIC, episode(f"{number}", latest[-4:], at)
        elif of_a_hundred < 97:
            yield MemoryScope.DIALOG, summary(f"{number}", latest, at)
        else:
            sources = chance.sample(drawn or said, min(3, len(drawn or said)))
            origin = {"created_at": at, "session_id": "", "agent_id": "benchmark", "source_ids": tuple(sources)}
            text = f"How to do thing {number}"
            yield MemoryScope.PROCEDURAL, Skill(id=record_id("skill", f"{number}"), text=text, use_when=text, **origin)


def message(conversation: str, turn: int, at: datetime) -> Message:
    """Return a message."""
    text = f"What was said in {conversation}, in turn {turn}: words enough for a sentence of common length."
    origin: dict[str, Any] = {"created_at": at, "session_id": conversation, "agent_id": "benchmark"}
    id_ = record_id("message", conversation, f"{turn}", at.isoformat())
    role: Any = "assistant" if turn % 2 else "user"
    return Message(id=id_, text=text, role=role, content=text, turn=turn, **origin)


def fact(name: str, sources: Sequence[str], at: datetime) -> Fact:
    """Return a fact."""
    text = f"User has said thing {name} about something"
    return Fact(id=record_id("fact", name), text=text, **_origin(sources, at))


def episode(name: str, sources: Sequence[str], at: datetime) -> Episode:
    """Return a milestone."""
    text = f"What was reached in {name}"
    return Episode(id=record_id("episode", name), text=text, goal=text, level=Level.MILESTONE, **_origin(sources, at))


def summary(name: str, sources: Sequence[str], at: datetime) -> Summary:
    """Return a summary."""
    return Summary(id=record_id("summary", name), text=f"What {name} came to", **_origin(sources, at))


def _origin(sources: Sequence[str], at: datetime) -> dict[str, Any]:
    origin = {"created_at": at, "session_id": "conversation", "agent_id": "benchmark"}
    return {**origin, "source_ids": tuple(sources)}


def turn(number: int) -> list[Change]:
    """Return what is written behind a turn, by the turn's number."""
    at = _BEGIN + timedelta(days=365, minutes=number)
    asked, answered = (message(f"new-{number // 10}", number % 10 * 2 + place, at) for place in (0, 1))
    text = 'search({"what": "tea"})'
    step = StepExperience(
        id=record_id("experience", f"{number}"), text=text, tool="search", success=True, **_origin([asked.id], at)
    )
    drawn: list[Scoped] = [
        (MemoryScope.DIALOG, asked),
        (MemoryScope.DIALOG, answered),
        (MemoryScope.EXPERIENCE, step),
        (MemoryScope.SEMANTIC, fact(f"new-{number}", [asked.id], at)),
        (MemoryScope.SEMANTIC, fact(f"also-new-{number}", [asked.id, answered.id], at)),
        (MemoryScope.EPISODIC, episode(f"new-{number}", [asked.id, answered.id], at)),
        (MemoryScope.DIALOG, summary(f"new-{number}", [asked.id, answered.id], at)),
    ]
    return [put(USER, record, indexed=False) for _scope, record in drawn]


async def timed(name: str, call: Callable[[Any], Awaitable[Any]], about: Sequence[Any]) -> dict[str, float]:
    """Return the median and the 95th percentile of calls, one after another, the first tenth of them not counted."""
    found = []
    for one in about:
        started = time.perf_counter()
        await call(one)
        found.append(1000 * (time.perf_counter() - started))
    counted = found[len(found) // 10 :]
    return {f"{name}_p50_ms": percentile(counted, 50), f"{name}_p95_ms": percentile(counted, 95)}


async def measure(store: MemoryStore, url: str, count: int, reads: int) -> dict[str, float]:
    """Fill a store and measure.

    Args:
        store: An empty store.
        url: Its database.
        count: How many memories.
        reads: How many reads of each kind.
    """
    chance = random.Random(1)  # noqa: S311 - no secret
    records = list(memories(count, chance))
    changes = [put(USER, record, indexed=False) for _scope, record in records]
    for start in range(0, len(changes), WRITTEN_AT_ONCE):
        await store.abatch(changes[start : start + WRITTEN_AT_ONCE])
    graph = MemoryGraph(store)
    started = time.perf_counter()
    whole = await graph.whole(USER)
    seconds = time.perf_counter() - started
    found: dict[str, float] = {"records": count, "links": len(whole.links), "whole_seconds": round(seconds, 2)}
    found["bytes_per_memory"] = round(await _index_bytes(store) / count)

    ids = [record.id for _, record in records]
    seeds = [dict.fromkeys(chance.sample(ids, SEEDS), 1.0) for _ in range(reads)]
    pairs = [chance.sample(ids, 2) for _ in range(reads)]
    found |= await timed("neighbours", partial(graph.neighbours, USER), [one for one, _ in pairs])
    found |= await timed("expand", partial(graph.expand, USER), seeds)
    found |= await timed("rank", partial(graph.rank, USER), seeds)
    found |= await timed("explain", lambda pair: graph.explain(USER, *pair), pairs)
    parts = [await graph.expand(USER, some) for some in seeds[:50]]
    found["nodes"] = round(sum(len(part.documents) for part in parts) / len(parts), 1)

    async def walk(place: int) -> None:
        page_rank(parts[place], seeds[place])

    found |= await timed("page_rank", walk, range(len(parts)))
    return found | await timed("turn", partial(_write, store), range(reads))


async def _index_bytes(store: MemoryStore) -> int:
    async with store.pool.connection() as conn:
        cursor = await conn.execute(
            "SELECT sum(pg_relation_size(to_regclass(name))) AS bytes "
            "FROM unnest('{store_memory_targets_idx,store_memory_lines_idx}'::text[]) name"
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row["bytes"])


async def _write(store: MemoryStore, number: int) -> None:
    async def step() -> tuple[None, list[Change]]:
        return None, turn(number)

    await transact(store, USER, step)


async def run(count: int, reads: int) -> dict[str, float]:
    """Measure on a database server that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder) / "postgres") as server:
            url = await new_database(server, "graph")
            settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
            async with open_storage(settings) as storage:
                assert isinstance(storage.store, MemoryStore)
                return await measure(storage.store, url, count, reads)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.graph_reads",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_json_option(parser)
    parser.add_argument("--records", type=int, default=10_000, help="how many memories (default: %(default)s)")
    parser.add_argument("--reads", type=int, default=300, help="how many reads of each kind (default: %(default)s)")
    arguments = parser.parse_args(argv)
    found = asyncio.run(run(arguments.records, arguments.reads))
    about = f"The graph of {arguments.records:,} memories"
    reading = ("neighbours", "expand", "rank", "page_rank", "explain", "turn")
    rows = {name: {at: found[f"{name}_{at}_ms"] for at in ("p50", "p95")} for name in reading}
    print_table(f"{about}: milliseconds", ("p50", "p95"), rows)
    rest = {name: value for name, value in found.items() if not name.endswith("_ms")}
    print_table(about, list(rest), {"": rest})
    write_json(arguments.json, found, {}, {})


if __name__ == "__main__":
    main()
