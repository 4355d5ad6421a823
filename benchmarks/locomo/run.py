"""One run: write the conversations to each system, ask every question, and compute the metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.databases import database_server
from benchmarks.locomo.dataset import Conversation, Question
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.metrics import Ranking, intervals, latency, quality
from benchmarks.locomo.systems import NAME, PEERS, Setup, System, open_react_mem
from benchmarks.measures import peak_rss_bytes, reset_peak
from benchmarks.progress import counted
from benchmarks.report import Metrics
from react_mem.memory.context import count_tokens, render_memories
from react_mem.memory.language.terms import index_terms
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import EmbeddingModel


async def run(conversations: Sequence[Conversation], peers: Sequence[str], model: EmbeddingModel) -> dict[str, Metrics]:
    embeddings = SharedEmbeddings(model.embeddings)
    questions = list(dict.fromkeys(question.text for c in conversations for question in c.questions))
    # before anyone asks, so that the first to ask is not the one whose caches are cold
    await asyncio.to_thread(model.embeddings.embed_query, "warm")
    for text in counted(questions, "Embedding", "questions"):
        await embeddings.aembed_query(text)
    rows: dict[str, Metrics] = {}
    async with database_server() as server_url:
        setup = Setup(server_url, embeddings, model.dims)
        for name, opener in {NAME: open_react_mem, **{peer: PEERS[peer] for peer in peers}}.items():
            async with opener(setup) as system:
                rows[name] = await measure(system, conversations, embeddings, name)
    return rows


async def measure(
    system: System, conversations: Sequence[Conversation], embeddings: SharedEmbeddings, name: str = "System"
) -> Metrics:
    """Write to an empty memory, then ask all questions, and last assemble their prompts."""
    reset_peak()
    started, spent, charged = time.perf_counter(), embeddings.spent, embeddings.charged
    for conversation in counted(conversations, f"{name} is written to", "conversations"):
        await system.write(conversation)
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
    for conversation, question in counted(asked, f"{name} is asked", "questions"):
        groups = (question.category, conversation.source) if several else (question.category,)
        rankings.append(await _ask(system, conversation, question, groups, embeddings))
    costs |= {**latency(rankings), "peak_rss_bytes": peak_rss_bytes()}
    for place, (conversation, question) in enumerate(counted(asked, f"{name} fills prompts", "prompts")):
        rankings[place] = replace(rankings[place], prompt=await system.prompt(conversation, question.text))
    return {**quality(rankings), **intervals(rankings), **costs}


async def _ask(
    system: System, asked: Conversation, question: Question, groups: tuple[str, ...], embeddings: SharedEmbeddings
) -> Ranking:
    spent, charged, started = embeddings.spent, embeddings.charged, time.perf_counter()
    hits = await system.search(asked, question.text)
    seconds = time.perf_counter() - started - (embeddings.spent - spent)
    # counted as the budget of a prompt counts them
    block = render_memories([hit.item for hit in hits], MemoryPolicy().context.memory_tokens)
    return Ranking(
        found=[hit.turn_id for hit in hits],
        evidence=question.evidence,
        groups=groups,
        conversation=asked.owner,
        context_tokens=count_tokens(block.briefing),
        milliseconds=1000 * seconds,
        embedding_milliseconds=1000 * (embeddings.charged - charged),
        answer=frozenset(index_terms(question.answer)),
    )
