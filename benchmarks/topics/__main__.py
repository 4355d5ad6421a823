"""Search for what is said in other words, with and without the words that `memory.extraction.topics` adds to the index.

    python -m benchmarks.topics --json results/topics.json [--embedding none]

One user says the sentences of `cases.yaml` one after the other; each has a question that needs what the sentence is
about rather than what it says. The words are those of a careful model, so this is the most that the option can do, on
cases that were written for it: what a small model adds is less.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.changes import put
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Message
from react_mem.memory.store.embeddings import load_embedding_model

OWNER, AGENT = "user", "benchmark"
CASES = Path(__file__).with_name("cases.yaml")

Case = dict[str, str]


def load_cases() -> list[Case]:
    """Return the cases."""
    cases: list[Case] = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    return cases


async def measure(cases: Sequence[Case], index: Any, *, topics: bool) -> dict[str, float]:
    """Return how often a sentence is the first, or among the first five, of what is found for its question.

    Args:
        cases: The cases.
        index: The store's index of vectors; None for words alone.
        topics: Whether the words are added.
    """
    memory = MemoryFacade(InMemoryStore(index=index) if index else InMemoryStore(), MemoryPolicy())
    ids: list[str] = []
    for number, case in enumerate(counted(cases, "Writing", "cases")):
        said = HumanMessage(case["said"], id=f"said-{number}")
        ids.append(message_record_id(f"talk-{number}", said))
        # a conversation each: neighbours would lend their words
        stored = await memory.dialog.append(OWNER, f"talk-{number}", [said], agent_id=AGENT)
        if topics:
            await memory.apply([put(OWNER, _named(message, case["topic"])) for message in stored])
    places = [
        await _place(memory, case["asks"], id_)
        for case, id_ in counted([*zip(cases, ids, strict=True)], "Asking", "questions")
    ]
    return {f"recall@{limit}": round(sum(place <= limit for place in places) / len(places), 4) for limit in (1, 5)}


def _named(message: Message, topic: str) -> Message:
    return message.model_copy(update={"keywords": topic})


async def _place(memory: MemoryFacade, question: str, wanted: str) -> int:
    query = MemoryQuery(
        user_id=OWNER, session_id="asked", agent_id=AGENT, scopes=[MemoryScope.DIALOG], query=question, extra={}
    )
    found = [item.id for item in await memory.read(query)]
    return found.index(wanted) + 1 if wanted in found else len(found) + 10


async def run(embedding: str) -> dict[str, dict[str, float]]:
    """Return the metrics with and without the words.

    Args:
        embedding: The model, as `EMBEDDING_MODEL`; `none` for words alone.
    """
    index = None
    if embedding != "none":
        model = await asyncio.to_thread(load_embedding_model, embedding)
        index = {"dims": model.dims, "embed": model.embeddings}
    cases = load_cases()
    return {name: await measure(cases, index, topics=on) for name, on in (("without", False), ("with", True))}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        argv: The command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.topics", description=__doc__)
    add_json_option(parser)
    parser.add_argument("--embedding", default="local", help="the model, as EMBEDDING_MODEL, or none (default: local)")
    options = parser.parse_args(argv)
    rows = asyncio.run(run(options.embedding))
    print_table("Found by what they are about", ("recall@1", "recall@5"), rows)
    metrics = {f"{name}.{metric}": value for name, found in rows.items() for metric, value in found.items()}
    write_json(options.json, metrics, {}, {"embedding": options.embedding})


if __name__ == "__main__":
    main()
