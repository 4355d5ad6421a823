"""Evidence recall, time and size of memory search, beside what others use.

    python -m benchmarks.locomo --data locomo.json --json results/locomo.json [--ablate] [--fit] [--graph]
        [--save-plots results]

Conversations come in the layout of LoCoMo (https://github.com/snap-research/locomo), which is not part of the project;
benchmarks/stress has some of our own. `--data` may be given several times. Each is written as its owner's conversation
would be, session by session: the first speaker as the user, the second as the assistant, by name, dated, a picture by
its caption. Each question is then asked from another conversation, a week after the last session or when the data says
(`asked_date_time`), and the turns that are found are compared with those that hold the answer. No model is called.
Questions without evidence, the adversarial ones among them, are left out.

The metrics, each over all questions and as `recall@10.multi_hop` by category (and by file, where there are several):
`recall@K`: how much of a question's evidence is among the K first results; `all_evidence@10`: how many questions have
all of it there; `mrr`: 1 / the place of the first. What rides along with a result as its context counts as nothing but
`context_tokens`: those of the prompt's block of memories, twenty results at the default budget.

What is found is not yet in the prompt. `prompt_evidence` is how much of a question's evidence a line of the context
stands for that is assembled for it, by its own text or by the answer or question that is shown with it, and
`prompt_tokens` what all of it takes that was retrieved: ours reads what a turn reads by default, of peers all results
come into a prompt of the same budget.

Intervals are 95 % bootstrap intervals: `low.recall@10` and `high.recall@10` over questions, and
`conversations.low.recall@10` and so on over conversations, which says more of data that nobody has seen: questions of
one conversation stand and fall together. So for `all_evidence@10` and `prompt_evidence`, and by category.

Every system is given the same embedding model. A text is embedded once a run, when the first of them asks for it, and
no time contains it: `ingest_embedding_seconds` and `p50_with_embedding_ms` say what it would have cost each of them.
Search is measured one question at a time. `peak_rss_bytes` is this process with the model loaded, without the database
server; `disk_bytes_per_memory` is tables and indexes by the turn.

`--ablate`, `--fit` and `--graph` look at our own search: without each arm, and with one alone; with weights of the
arms that are fitted anew, and held out (benchmarks/locomo/fit.py); and with links between the turns as another arm.
Their metrics are ours, as `without.lexical.recall@10`, `fit.held_out.recall@10` and `graph.with.recall@10`.
`graph.difference` is in recall@10, question by question: `mean.multi_hop` between the ends `low.` and `high.` of its
95 % bootstrap interval over questions.

Peers: bm25 (bm25s, stemming), dense (numpy), LangGraph's InMemoryStore and AsyncPostgresStore as they come, LangMem's
search tool on an InMemoryStore, and mem0 where it is installed (by the extra `mem0`; it keeps the turns as
they are, no model call, telemetry off). They have no field for the speaker and get "name: text". AsyncPostgresStore
embeds questions as it embeds texts; mem0 searches by words only what spaCy prepared (`pip install 'mem0ai[nlp]'`).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.locomo import fit, graph, peers
from benchmarks.locomo.charts import save_plots
from benchmarks.locomo.dataset import Conversation, load
from benchmarks.locomo.embedding import SharedEmbeddings, VectorFile
from benchmarks.locomo.mem0_peer import open_mem0
from benchmarks.locomo.metrics import by_group
from benchmarks.locomo.react_mem import NAME, ReactMem, open_react_mem
from benchmarks.locomo.run import ablate, ablations, asked, measure, shipped_arms
from benchmarks.locomo.system import Opener, Setup
from benchmarks.plots import add_plots_option, check_plots
from benchmarks.progress import interruptible
from benchmarks.report import add_json_option, how_to_install, print_table, tell_left_out, write_json
from react_mem.memory.store.embedded import embedded_database
from react_mem.memory.store.embeddings import EmbeddingModel, load_embedding_model

PEERS: dict[str, Opener] = {
    "bm25": peers.open_bm25,
    "dense": peers.open_dense,
    "in_memory_store": peers.open_in_memory_store,
    "postgres_store": peers.open_postgres_store,
    "langmem_tool": peers.open_langmem_tool,
    "mem0": open_mem0,
}
_MODULES = {"bm25": ("bm25s", "Stemmer"), "mem0": ("mem0",)}
_PACKAGES = {"bm25": "bm25s", "mem0": "mem0ai"}
_EXTRAS = {"bm25": "bench", "mem0": "mem0"}

QUALITY = ("recall@5", "recall@10", "recall@20", "all_evidence@10", "mrr")
ASKING = ("p50_ms", "p95_ms", "p50_with_embedding_ms", "p95_with_embedding_ms", "context_tokens")
IN_THE_PROMPT = ("prompt_evidence", "prompt_tokens")
WRITING = ("ingest_seconds", "ingest_embedding_seconds", "turns_per_s", "disk_bytes_per_memory", "peak_rss_bytes")
ABLATED = ("recall@10", "all_evidence@10", "mrr", "p50_ms")
BY_GROUP = "recall@10"

ABLATIONS, FIT, GRAPH = "", "fit", "graph"

Rows = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Wanted:
    """Options: measurements beside every system's search.

    Args:
        ablations: Whether ours is asked again without each arm, and with each.
        fit: Whether its weights are fitted anew.
        graph: Whether it is asked again with links between the turns.
    """

    ablations: bool = False
    fit: bool = False
    graph: bool = False


@dataclass(frozen=True)
class Measured:
    """Measurements.

    Args:
        systems: Metrics by system, ours first.
        ours: Of ours alone, by what was compared (`fit`, ...) and then by row; that of the arms has no name.
    """

    systems: Rows
    ours: dict[str, Rows]

    @property
    def metrics(self) -> dict[str, float]:
        """Everything about ours, by one name each."""
        found = dict(self.systems[NAME])
        for compared, rows in self.ours.items():
            for row, metrics in rows.items():
                found |= {".".join(filter(None, (compared, row, metric))): v for metric, v in metrics.items()}
        return found


async def run(
    conversations: Sequence[Conversation],
    peer_names: Sequence[str],
    model: EmbeddingModel,
    wanted: Wanted,
    vectors: Path | None = None,
) -> Measured:
    """Measure every system, one after another, on a database server that is gone afterwards.

    Args:
        conversations: What to write and ask.
        peer_names: Which peers.
        model: The embedding model.
        wanted: What else to measure of ours.
        vectors: The file that keeps vectors from run to run.
    """
    embeddings = SharedEmbeddings(model.embeddings, VectorFile(vectors, model.name) if vectors else None)
    questions = asked(conversations)
    number = sum(len(conversation.questions) for conversation in conversations)
    rows: Rows = {}
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
    )
    with bar, tempfile.TemporaryDirectory() as folder:

        def stage(name: str, steps: int) -> Callable[[], None]:
            task = bar.add_task(name, total=steps)
            return lambda: bar.advance(task)

        await embeddings.prepare(questions, stage("questions embedded", len(questions)))
        async with embedded_database(Path(folder) / "postgres") as server_url:
            setup = Setup(server_url, model.name, embeddings, model.dims)
            steps = len(conversations) + 2 * number
            async with open_react_mem(setup) as memory:
                rows[NAME] = await measure(memory, conversations, embeddings, stage(NAME, steps))
                for name in peer_names:
                    async with PEERS[name](setup) as peer:
                        rows[name] = await measure(peer, conversations, embeddings, stage(name, steps))
                # last: what it leaves in this process's memory would be counted as the peers'
                ours = await _compare(memory, conversations, embeddings, wanted, stage)
    return Measured(rows, ours)


async def _compare(
    memory: ReactMem,
    conversations: Sequence[Conversation],
    embeddings: SharedEmbeddings,
    wanted: Wanted,
    stage: Callable[[str, int], Callable[[], None]],
) -> dict[str, Rows]:
    number = sum(len(conversation.questions) for conversation in conversations)
    found: dict[str, Rows] = {}
    if wanted.ablations:
        arms = shipped_arms()
        found[ABLATIONS] = await ablate(
            memory, arms, conversations, embeddings, stage("ablation", len(ablations(arms)) * number)
        )
    if wanted.fit:
        candidates = await fit.collect(memory, conversations, stage("candidates of the fit", number))
        found[FIT] = await asyncio.to_thread(fit.study, candidates)
    if wanted.graph:
        progress = stage("links between turns", 2 * number + len(conversations))
        found[GRAPH] = await graph.compare(memory, conversations, embeddings, progress)
    return found


def installed(peer: str) -> bool:
    """Return whether the packages of a peer are there."""
    return all(importlib.util.find_spec(module) is not None for module in _MODULES.get(peer, ()))


def show(measured: Measured, about: str) -> None:
    """Print everything.

    Args:
        measured: What was measured.
        about: What was asked of them.
    """
    print_table(f"Evidence found: {about}", QUALITY, measured.systems)
    _print_groups(measured.systems)
    _print_intervals(measured.systems[NAME])
    print_table("In the prompt", IN_THE_PROMPT, measured.systems)
    print_table("Asking", ASKING, measured.systems)
    print_table("Writing", WRITING, measured.systems)
    if compared := measured.ours.get(ABLATIONS):
        print_table("Without an arm of the search, and with it alone", ABLATED, compared)
    if fitted := dict(measured.ours.get(FIT, {})):
        multipliers = fitted.pop("multipliers")
        print_table("Weights as shipped, fitted anew, and held out", list(fitted["shipped"]), fitted)
        print_table("What the fit multiplies the shipped weights by", list(multipliers), {"": multipliers})
    if linked := dict(measured.ours.get(GRAPH, {})):
        found = linked.pop("difference")
        print_table("With links between turns as an arm", (*QUALITY, "p50_ms", "p95_ms"), linked)
        ends = {end: by_group(found, end) for end in ("low", "mean", "high")}
        rows = {group: {end: ends[end][group] for end in ends} for group in ends["mean"]}
        print_table("What that adds to recall@10: the mean in its 95 % interval", list(ends), rows)


@interruptible
def main(
    argv: Sequence[str] | None = None, *, prog: str = "python -m benchmarks.locomo", about: str | None = __doc__
) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
        prog: The command.
        about: What it says of itself when asked for help.
    """
    parser = _parser(prog, about)
    arguments = parser.parse_args(argv)
    check_plots(parser, arguments)
    missing = [name for name in PEERS if not installed(name)]
    if arguments.peers is None:
        names = [name for name in PEERS if name not in missing]
        for name in missing:
            tell_left_out(name, _EXTRAS[name])
    else:
        names = list(dict.fromkeys(arguments.peers))
        for name in names:
            if name in missing:
                parser.error(f"{name} is not installed. {how_to_install(_EXTRAS[name])}")
    try:
        conversations = load(arguments.data)
        model = load_embedding_model(arguments.embedding)
    except (ValueError, RuntimeError) as error:
        parser.error(str(error))
    if arguments.fit and len(conversations) < 2:
        parser.error("--fit: there is one conversation, and it cannot be held out of itself; give more data")

    wanted = Wanted(arguments.ablate, arguments.fit, arguments.graph)
    measured = asyncio.run(run(conversations, names, model, wanted, arguments.vectors))
    turns = sum(1 for conversation in conversations for _ in conversation.turns)
    number = sum(len(conversation.questions) for conversation in conversations)
    skipped = sum(conversation.skipped for conversation in conversations)
    show(measured, f"{number} questions about {turns:,} turns")
    measured_on = {
        "data": [file.name for file in arguments.data],
        "conversations": len(conversations),
        "turns": turns,
        "questions_without_evidence": skipped,
        "embedding": model.name,
        **{package: version(package) for name in names if (package := _PACKAGES.get(name))},
    }
    theirs = {name: measured.systems[name] for name in names}
    write_json(arguments.json, measured.metrics, theirs, measured_on)
    if arguments.save_plots:
        for file in save_plots(arguments.json, arguments.save_plots):
            print(file)


def _print_groups(rows: Mapping[str, Mapping[str, float]]) -> None:
    found = {name: by_group(metrics, BY_GROUP) for name, metrics in rows.items()}
    groups = next(iter(found.values()))
    # a row a group, and three digits: as many columns as there are systems fit on a line
    table = {group: {name: round(metrics[group], 3) for name, metrics in found.items()} for group in groups}
    print_table(f"{BY_GROUP} by category", list(rows), table)


def _print_intervals(metrics: Mapping[str, float]) -> None:
    """Print ours by category, with the ends of the intervals and with what comes into a prompt."""
    columns = [
        "questions",
        *(f"{ends}{BY_GROUP}" for ends in ("", "low.", "high.", "conversations.low.", "conversations.high.")),
        *IN_THE_PROMPT,
    ]
    rows = {
        group: {column: value for column in columns if (value := metrics.get(f"{column}.{group}")) is not None}
        for group in by_group(metrics, BY_GROUP)
    }
    print_table(f"{BY_GROUP} in its 95 % intervals, and the prompt: {NAME}", columns, {"": metrics, **rows})


def _parser(prog: str, about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, action="append", required=True, help="a file in LoCoMo's or BEAM's layout, or a folder"
    )
    add_json_option(parser)
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=PEERS,
        help="which peers; a bare --peers is none of them (default: all that are installed)",
    )
    parser.add_argument("--embedding", default="local", help="the model for all, as EMBEDDING_MODEL (default: local)")
    parser.add_argument("--vectors", type=Path, help="keep vectors in this file, for the next run")
    parser.add_argument(
        "--ablate", action="store_true", help="ask again without each arm of the search, and with one alone"
    )
    parser.add_argument("--fit", action="store_true", help="fit the arms' weights anew, and hold out each conversation")
    parser.add_argument("--graph", action="store_true", help="ask again with links between the turns as an arm")
    add_plots_option(parser)
    return parser


if __name__ == "__main__":
    main()
