"""Time that the hooks of a coding agent take: whole processes, as Claude Code starts them, beside the embedder's time.

    python -m benchmarks.coding_hooks --json results/coding_hooks.json [--memories 1000] [--prompts 60]

A `react-mem hook` is started for each event and waited for, on the embedded PostgreSQL and with the local embedder,
while a resident holds memory open. Right after each prompt the same text is embedded here, so that both are measured
under the same load: the hook without that is what it takes beside the embedder. A prompt that recalls nothing would be
measured for nothing: how many recalled is told. Processor time is told too, since what else a machine does changes
little of it. The peer is the same search without a resident, a command of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil  # type: ignore[import-untyped]

from benchmarks.filling import fill, memories
from benchmarks.locomo.metrics import percentile
from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.runtime import load_embedding_model, open_storage
from tests.support.coding_agent import CodingAgent

USER = "ann"
_WARM_UP = 5
_OTHERS = 20
Metrics = dict[str, float]
Result = TypeVar("Result")


def measure(number: int, prompts: int, searches: int) -> tuple[dict[str, Metrics], Metrics]:
    """Return what the hooks take, and what a search without a resident does.

    Args:
        number: Memories of the user.
        prompts: Prompts that are measured.
        searches: Searches without a resident, each of which takes seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        agent = CodingAgent(home, {"EMBEDDING_MODEL": "local"})
        settings = StorageSettings.model_validate({"data_dir": home / ".react-mem" / "postgres", "embedding": "local"})
        asyncio.run(_fill(settings, number))
        try:
            return _hooks(agent, number, prompts), _peer(agent, searches)
        finally:
            agent.kill()


async def _fill(settings: StorageSettings, number: int) -> None:
    async with open_storage(settings) as storage:
        await fill(MemoryFacade(storage.memory), USER, number)


def _hooks(agent: CodingAgent, number: int, prompts: int) -> dict[str, Metrics]:
    embedder = load_embedding_model("local").embeddings
    known = [record.text for _, record in memories(USER, min(number, 500))]
    agent.hook("SessionStart", "warm", USER, source="startup")
    [resident] = agent.residents()
    took: defaultdict[str, list[float]] = defaultdict(list)
    recalled = embedder_cpu = 0.0
    cpu = {"client": 0.0, "resident": 0.0}
    for place in counted(range(-_WARM_UP, prompts), "Prompts", "prompts"):
        if place == 0:
            took.clear()
            recalled = embedder_cpu = 0.0
            cpu = {"client": -_children_cpu(), "resident": -_cpu_of(resident)}
        text = f"What do you know of {known[place * 7 % len(known)][:60]}, number {place}?"
        told, of_hook = _timed(partial(agent.hook, "UserPromptSubmit", f"p{place // 10}", USER, prompt=text))
        before = time.process_time()
        _, of_embedder = _timed(partial(embedder.embed_query, text))
        embedder_cpu += (time.process_time() - before) * 1000
        recalled += bool(told)
        took["prompt"].append(of_hook)
        took["embedder"].append(of_embedder)
        took["beside"].append(of_hook - of_embedder)
    cpu["client"] += _children_cpu()
    cpu["resident"] += _cpu_of(resident)
    for place in counted(range(min(prompts, _OTHERS)), "Other events", "events"):
        agent.hook("UserPromptSubmit", "others", USER, prompt=f"Number {place} is next.")
        answer = {"last_assistant_message": f"It is so, number {place}.", "stop_hook_active": False}
        took["stop"].append(_timed(partial(agent.hook, "Stop", "others", USER, **answer))[1])
        begins = partial(agent.hook, "SessionStart", f"new-{place}", USER, source="startup")
        took["start"].append(_timed(begins)[1])
        took["passed_over"].append(_timed(partial(agent.hook, "PostToolUse", "others", USER, tool_name="Bash"))[1])
    found: dict[str, Metrics] = {
        name: {f"p{share}_ms": percentile(values, share) for share in (50, 95)} for name, values in took.items()
    }
    beside = sum(cpu.values()) - embedder_cpu
    found["prompt"]["recalled_share"] = round(recalled / prompts, 3)
    for name, spent in {"prompt": sum(cpu.values()), "embedder": embedder_cpu, "beside": beside, **cpu}.items():
        found.setdefault(name, {})["cpu_mean_ms"] = round(spent / prompts, 2)
    found["resident"]["rss_bytes"] = resident.memory_info().rss
    return found


def _peer(agent: CodingAgent, searches: int) -> Metrics:
    command = [sys.executable, "-m", "react_mem.agents.cli", "memory", "search", "--user", USER, "--json", "red house"]

    def search() -> None:
        subprocess.run(command, env=agent.environment, cwd=agent.home, check=True, capture_output=True)

    took = [_timed(search)[1] for _ in range(searches)]
    return {"prompt.p50_ms": percentile(took, 50)}


def _timed(run: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = run()
    return result, (time.perf_counter() - start) * 1000


def _cpu_of(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system) * 1000


def _children_cpu() -> float:
    """Return the processor time of the processes that were waited for, in milliseconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coding_hooks", description=(__doc__ or "").partition("\n")[0]
    )
    add_json_option(parser)
    parser.add_argument("--memories", type=int, default=1_000, help="memories of the user (default: %(default)s)")
    parser.add_argument("--prompts", type=int, default=60, help="prompts (default: %(default)s)")
    parser.add_argument("--searches", type=int, default=3, help="searches without a resident (default: %(default)s)")
    arguments = parser.parse_args(argv)
    load = [os.getloadavg()[0]]
    found, peer = measure(arguments.memories, arguments.prompts, arguments.searches)
    load.append(os.getloadavg()[0])
    print_table("Hooks, whole processes", ("p50_ms", "p95_ms", "cpu_mean_ms"), found)
    print_table("The same without a resident", tuple(peer), {"react-mem memory search": peer})
    metrics = {f"{what}.{name}": value for what, row in found.items() for name, value in row.items()}
    told = {"memories": arguments.memories, "prompts": arguments.prompts, "load_average": load}
    write_json(arguments.json, metrics, {"without_resident": peer}, told)


if __name__ == "__main__":
    main()
