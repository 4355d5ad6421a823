"""One run: everything is written to a system, every question asked, and all of it counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.databases import database_server
from benchmarks.locomo import fit
from benchmarks.locomo.dataset import Conversation, Question
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import Ranking, intervals, latency, quality
from benchmarks.locomo.ours import NAME, open_react_mem
from benchmarks.locomo.peers import PEERS, Setup, System
from benchmarks.measures import peak_rss_bytes, reset_peak
from react_mem.memory.context import count_tokens, render_memories
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import EmbeddingModel

Rows = dict[str, dict[str, float]]


async def run(
    conversations: Sequence[Conversation], peers: Sequence[str], model: EmbeddingModel, *, fitting: bool = False
) -> tuple[Rows, Rows]:
    """Measure every system, one after another, on a database server that is gone afterwards.

    Returns:
        Metrics by system, ours first; and by weights, where they are fitted anew.
    """
    embeddings = SharedEmbeddings(model.embeddings)
    questions = list(dict.fromkeys(question.text for c in conversations for question in c.questions))
    number = sum(len(conversation.questions) for conversation in conversations)
    rows: Rows = {}
    fitted: Rows = {}
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(elapsed_when_finished=True)
    with Progress(*columns, console=Console(stderr=True)) as bar:

        def stage(name: str, steps: int) -> Callable[[], None]:
            task = bar.add_task(name, total=steps)
            return lambda: bar.advance(task)

        # before anyone asks, so that the first to ask is not the one whose caches are cold
        progress = stage("questions embedded", len(questions))
        await asyncio.to_thread(model.embeddings.embed_query, "warm")
        for text in questions:
            await embeddings.aembed_query(text)
            progress()
        async with database_server() as server_url:
            setup = Setup(server_url, embeddings, model.dims)
            steps = len(conversations) + 2 * number
            async with open_react_mem(setup) as memory:
                rows[NAME] = await measure(memory, conversations, embeddings, stage(NAME, steps))
                for name in peers:
                    async with PEERS[name](setup) as peer:
                        rows[name] = await measure(peer, conversations, embeddings, stage(name, steps))
                if fitting:
                    # last: what it leaves in this process's memory would be counted as the peers'
                    found = await fit.collect(memory, conversations, stage("candidates of the fit", number))
                    fitted = await asyncio.to_thread(fit.study, found)
    return rows, fitted


async def measure(
    system: System, conversations: Sequence[Conversation], embeddings: SharedEmbeddings, progress: Callable[[], None]
) -> dict[str, float]:
    """Write all conversations to an empty memory, then ask all questions, and at last put the prompt of each together.

    Args:
        system: The memory.
        conversations: What to write and to ask.
        embeddings: The model it embeds with.
        progress: Called for each conversation written, each question asked and each prompt.
    """
    reset_peak()
    started, spent, charged = time.perf_counter(), embeddings.spent, embeddings.charged
    for conversation in conversations:
        await system.write(conversation)
        progress()
    seconds = time.perf_counter() - started - (embeddings.spent - spent)
    turns = sum(1 for conversation in conversations for _ in conversation.turns)
    costs = {
        "ingest_seconds": round(seconds, 2),
        "ingest_embedding_seconds": round(embeddings.charged - charged, 2),
        "turns_per_s": round(turns / seconds, 1),
    }
    if (disk := await system.disk_bytes()) is not None:
        costs["disk_bytes_per_memory"] = round(disk / turns)
    several = len({conversation.source for conversation in conversations}) > 1
    asked = [(one, question) for one in conversations for question in one.questions]
    rankings = []
    for conversation, question in asked:
        groups = (question.category, conversation.source) if several else (question.category,)
        rankings.append(await _ask(system, conversation, question, groups, embeddings))
        progress()
    costs |= {**latency(rankings), "peak_rss_bytes": peak_rss_bytes()}
    for place, (conversation, question) in enumerate(asked):
        rankings[place] = replace(rankings[place], prompt=await system.prompt(conversation, question.text))
        progress()
    return {**quality(rankings), **intervals(rankings), **costs}


async def _ask(
    system: System,
    conversation: Conversation,
    question: Question,
    groups: tuple[str, ...],
    embeddings: SharedEmbeddings,
) -> Ranking:
    spent, charged, started = embeddings.spent, embeddings.charged, time.perf_counter()
    hits = await system.search(conversation, question.text)
    seconds = time.perf_counter() - started - (embeddings.spent - spent)
    # counted as the budget of a prompt counts them
    block = render_memories([hit.item for hit in hits], MemoryPolicy().context.memory_tokens)
    return Ranking(
        found=[hit.turn_id for hit in hits],
        evidence=question.evidence,
        groups=groups,
        conversation=conversation.owner,
        context_tokens=count_tokens(block.briefing),
        milliseconds=1000 * seconds,
        embedding_milliseconds=1000 * (embeddings.charged - charged),
    )
