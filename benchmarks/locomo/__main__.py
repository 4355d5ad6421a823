"""Evidence recall, time and size of memory search, beside peers.

    python -m benchmarks.locomo --data locomo.json --json results/locomo.json [--peers NAME ...]

Conversations have the layout of LoCoMo (https://github.com/snap-research/locomo), which is not part of the project;
benchmarks/stress has some of our own. `--data` may be repeated. Each conversation is written session by session for its
owner: the first speaker as the user, the second as the assistant, by name, dated, pictures by their captions. Each
question is then asked from another conversation, a week after the last session or at `asked_date_time`, and the found
turns are compared with the evidence. No model is called. Questions without evidence are left out.

The metrics, over all questions, and by category (and by file, of several) as `recall@10.multi_hop`: `recall@K`, the
share of the evidence among the first K results; `all_evidence@10`, the share of questions with all evidence there;
`mrr`, the mean reciprocal rank of the first evidence. The context of a result counts only as `context_tokens`: the
tokens of the prompt's block of memories, twenty results at the default budget.

Found evidence is not yet in the prompt. `prompt_evidence` is the share of the evidence that a line of the assembled
context shows, by its own text or as the partner of another message, and `prompt_tokens` the tokens of all retrieved
text. `answer_words` is the share of the content words of the given answer that stand in that text. Ours reads as a turn
does by default; for peers all results go into a prompt of the same budget.

Intervals are 95 % bootstrap intervals: `low.recall@10` and `high.recall@10` over questions,
`conversations.low.recall@10` and so on over conversations, whose questions are correlated. The same for
`all_evidence@10` and `prompt_evidence`, and by category.

All systems share one embedding model. A text is embedded once a run, and no time contains that:
`ingest_embedding_seconds` and `p50_with_embedding_ms` add the cost for each system. Questions are asked one at a time.
`peak_rss_bytes` is this process with the model loaded, without the database server; `disk_bytes_per_memory` is tables
and indexes per turn.

Peers: bm25 (bm25s, stemming), dense (numpy), LangGraph's InMemoryStore and AsyncPostgresStore, LangMem's search tool on
an InMemoryStore, and mem0 where installed (by the extra `mem0`; it stores the turns unchanged, no model call, telemetry
off). They have no field for the speaker and get "name: text". AsyncPostgresStore embeds questions like texts; mem0's
lexical search needs spaCy (`pip install 'mem0ai[nlp]'`).
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from benchmarks.locomo.dataset import load
from benchmarks.locomo.metrics import by_group
from benchmarks.locomo.run import run
from benchmarks.locomo.systems import NAME, PEERS
from benchmarks.progress import interruptible
from benchmarks.report import Command, Metrics, how_to_install, print_table, tell_left_out, write_json
from react_mem.memory.store.embeddings import load_embedding_model

_MODULES = {"bm25": ("bm25s", "Stemmer"), "mem0": ("mem0",)}
_EXTRAS = {"bm25": "bench", "mem0": "mem0"}

QUALITY = ("recall@5", "recall@10", "recall@20", "all_evidence@10", "mrr")
ASKING = ("p50_ms", "p95_ms", "p50_with_embedding_ms", "p95_with_embedding_ms", "context_tokens")
WRITING = ("ingest_seconds", "ingest_embedding_seconds", "turns_per_s", "disk_bytes_per_memory", "peak_rss_bytes")
BY_GROUP = "recall@10"


def installed(peer: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in _MODULES.get(peer, ()))


def show(systems: dict[str, Metrics], about: str) -> None:
    """Print all but the intervals by category, which are in the JSON."""
    print_table(f"Evidence found: {about}", QUALITY, systems)
    found = {name: by_group(metrics, BY_GROUP) for name, metrics in systems.items()}
    # a row a group, and three digits: as many columns as there are systems fit on a line
    table = {group: {name: round(one[group], 3) for name, one in found.items()} for group in found[NAME]}
    print_table(f"{BY_GROUP} by category", list(systems), table)
    ends = (f"{end}{BY_GROUP}" for end in ("", "low.", "high.", "conversations.low.", "conversations.high."))
    print_table(f"{BY_GROUP} in its 95 % intervals", ("questions", *ends), systems)
    print_table("In the prompt", ("prompt_evidence", "answer_words", "prompt_tokens"), systems)
    print_table("Asking", ASKING, systems)
    print_table("Writing", WRITING, systems)


@interruptible
def main(argv: Sequence[str] | None = None, *, name: str = "locomo", about: str | None = __doc__) -> None:
    command = Command(name, about)
    command.add_argument(
        "--data", type=Path, action="append", required=True, help="a file in LoCoMo's or BEAM's layout, or a folder"
    )
    command.add_argument(
        "--peers", nargs="*", choices=PEERS, help="a bare --peers is none of them; by default all that are installed"
    )
    told = command.parse_args(argv)
    missing = [peer for peer in PEERS if not installed(peer)]
    peers = list(dict.fromkeys(PEERS if told.peers is None else told.peers))
    for peer in (peer for peer in missing if peer in peers):
        if told.peers is not None:
            command.error(f"{peer} is not installed. {how_to_install(_EXTRAS[peer])}")
        tell_left_out(peer, _EXTRAS[peer])
        peers.remove(peer)
    try:
        conversations = load(told.data)
        model = load_embedding_model("local")
    except (ValueError, RuntimeError) as error:
        command.error(str(error))
    systems = asyncio.run(run(conversations, peers, model))
    turns = sum(1 for conversation in conversations for _ in conversation.turns)
    questions = sum(len(conversation.questions) for conversation in conversations)
    show(systems, f"{questions} questions about {turns:,} turns")
    measured_on = {
        "data": [file.name for file in told.data],
        "conversations": len(conversations),
        "turns": turns,
        "questions_without_evidence": sum(conversation.skipped for conversation in conversations),
        "embedding": model.name,
    }
    write_json(told.json, systems.pop(NAME), systems, measured_on)


if __name__ == "__main__":
    main()
