"""One run: everything is written to a system, every question asked, and all of it counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.locomo.dataset import Conversation, Question
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.memory_use import peak_rss_bytes, reset_peak
from benchmarks.locomo.metrics import Ranking, intervals, latency, quality
from benchmarks.locomo.react_mem import ReactMem
from benchmarks.locomo.system import Hit, System
from react_mem.memory.context import count_tokens, render_memories
from react_mem.memory.model.arms import Arm
from react_mem.memory.model.policy import MemoryPolicy

Progress = Callable[[], None]

PROPOSING = frozenset([Arm.VECTOR, Arm.LEXICAL, Arm.TIME])
"""Arms that find something alone; the others weigh what these propose."""


async def measure(
    system: System, conversations: Sequence[Conversation], embeddings: SharedEmbeddings, progress: Progress
) -> dict[str, float]:
    """Write all conversations, then ask all questions, and at last put the prompt of each together.

    Args:
        system: An empty memory.
        conversations: What to write and to ask.
        embeddings: The model it embeds with.
        progress: Called for each conversation written, each question asked and each prompt.

    Returns:
        Its metrics.
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
    rankings = await ask(system, conversations, embeddings, progress)
    costs |= {**latency(rankings), "peak_rss_bytes": peak_rss_bytes()}
    rankings = await _with_prompts(system, conversations, rankings, progress)
    return {**quality(rankings), **intervals(rankings), **costs}


async def ask(
    system: System, conversations: Sequence[Conversation], embeddings: SharedEmbeddings, progress: Progress
) -> list[Ranking]:
    """Ask every question of the memory that its conversation was written to, one at a time.

    Args:
        system: The memory.
        conversations: With their questions.
        embeddings: The model it embeds with.
        progress: Called for each question.
    """
    several = len({conversation.source for conversation in conversations}) > 1
    rankings = []
    for conversation in conversations:
        for question in conversation.questions:
            groups = (question.category, conversation.source) if several else (question.category,)
            rankings.append(await _ask(system, conversation, question, groups, embeddings))
            progress()
    return rankings


async def ablate(
    memory: ReactMem,
    arms: frozenset[Arm],
    conversations: Sequence[Conversation],
    embeddings: SharedEmbeddings,
    progress: Progress,
) -> dict[str, dict[str, float]]:
    """Ask again with each arm of the search left out, and with each of `PROPOSING` alone.

    Args:
        memory: With everything written.
        arms: What there is to leave out.
        conversations: What to ask.
        embeddings: The model.
        progress: Called for each question.

    Returns:
        Metrics by what was searched: `without.lexical`, `only.lexical`.
    """
    found: dict[str, dict[str, float]] = {}
    for name, kept in ablations(arms).items():
        policy = memory.policy.model_copy(update={"recall": {"arms": sorted(kept)}})
        rankings = await ask(memory.under(policy), conversations, embeddings, progress)
        found[name] = {**quality(rankings), **latency(rankings)}
    return found


def ablations(arms: frozenset[Arm]) -> dict[str, frozenset[Arm]]:
    """Return what `ablate` searches by, by name."""
    without = {f"without.{arm}": arms - {arm} for arm in sorted(arms)}
    return without | {f"only.{arm}": frozenset({arm}) for arm in sorted(arms & PROPOSING)}


def shipped_arms() -> frozenset[Arm]:
    """Return the arms of the search that the default policy switches on."""
    return MemoryPolicy().recall.arms


def asked(conversations: Sequence[Conversation]) -> list[str]:
    """Return the questions, each once."""
    return list(dict.fromkeys(question.text for c in conversations for question in c.questions))


async def _with_prompts(
    system: System, conversations: Sequence[Conversation], rankings: Sequence[Ranking], progress: Progress
) -> list[Ranking]:
    asked_of = [(conversation, question) for conversation in conversations for question in conversation.questions]
    found = []
    for ranking, (conversation, question) in zip(rankings, asked_of, strict=True):
        found.append(replace(ranking, prompt=await system.prompt(conversation, question.text)))
        progress()
    return found


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
    return Ranking(
        found=[hit.turn_id for hit in hits],
        evidence=question.evidence,
        groups=groups,
        conversation=conversation.owner,
        context_tokens=_context_tokens(hits),
        milliseconds=1000 * seconds,
        embedding_milliseconds=1000 * (embeddings.charged - charged),
    )


def _context_tokens(hits: Sequence[Hit]) -> int:
    """Return the tokens of a prompt's block of memories, counted as its budget counts them."""
    block = render_memories([hit.item for hit in hits], MemoryPolicy().context.memory_tokens)
    return count_tokens(block.briefing)
