"""`python -m benchmarks.long_conversation --json OUT [--turns 500] [--server]`; see `--help`.

One conversation of 500 turns, in English and Vietnamese, with long tool results, long pasted texts and things that are
much alike. What is said in passing in turn 3, and in three more, is asked for at the end; the model answers where its
prompt has it (see `model`). The same turns with `react` (the whole history), `react_mem` as it is shipped, and
`create_agent` with LangChain's SummarizationMiddleware (`summarization`), whose summaries the same small model writes.
That model keeps the beginning of each message and so none of the details; the column `shown to small` tells how many a
summary could have kept, because the model was shown them.

All models are one scripted server, over HTTP and the real client; it counts the tokens of what it is sent, for all of
them alike. `react_mem` runs on an embedded database with the local embedder. What is done behind a turn is done
between the turns here. With `--server` `react_mem` also runs on a `langgraph dev` of its own, over HTTP; what its turns
leave to do is then done as it is shipped, after a moment of quiet, and every 25 turns there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.locomo.databases import new_database
from benchmarks.long_conversation.conversation import Said, conversation, details_of
from benchmarks.long_conversation.measure import Held, Metrics, hold, marks
from benchmarks.long_conversation.model import Counter, serve
from benchmarks.long_conversation.systems import FULL, ON_SERVER, PEER, WINDOW, Talk, in_process, on_server
from benchmarks.progress import interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embedded import embedded_database
from tests.support.openai_server import OpenAIServer

_TOKENS = ("peak", "total", "small_total")
_CALLS = ("calls", "small_calls", "waited_for", "degraded", "time_over_react")
_KNOWN = ("asked", "answered", "recovered", "turn_3_recovered", "shown_to_small")


async def measure(turns: int, *, server: bool) -> dict[str, Metrics]:
    """Hold the conversation with every system.

    Args:
        turns: Its length.
        server: Whether with a LangGraph server too.

    Returns:
        What it came to, by system.
    """
    said, details = list(conversation(turns)), details_of(turns)
    counter = Counter()
    held: dict[str, Held] = {}
    with tempfile.TemporaryDirectory() as folder, OpenAIServer() as model:
        serve(model, counter)
        async with embedded_database(Path(folder) / "postgres") as url:
            settings = StorageSettings.model_validate(
                {"database_url": await new_database(url, "ours"), "embedding": "local"}
            )
            async with open_storage(settings) as storage:
                for talk in in_process(storage, model.base_url):
                    held[talk.name] = await _hold(talk, said, counter)
            if server:
                runs_in = Path(folder) / "server"
                runs_in.mkdir()
                async with on_server(runs_in, await new_database(url, "server"), model.base_url) as talk:
                    held[talk.name] = await _hold(talk, said, counter)
    # a server does more for a turn than run it, and each of its turns is another process's
    return {name: one.metrics(details, held[FULL] if name != ON_SERVER else None) for name, one in held.items()}


async def _hold(talk: Talk, said: Sequence[Said], counter: Counter) -> Held:
    started = time.perf_counter()
    held = await hold(talk, said, counter)
    print(f"{talk.name}: {len(said)} turns in {time.perf_counter() - started:.0f} seconds", flush=True)
    return held


def _print(found: Mapping[str, Metrics], turns: int) -> None:
    by_mark = {
        name: {f"turn_{mark}": row[f"prompt_tokens.turn_{mark}"] for mark in marks(turns)}
        for name, row in found.items()
    }
    print_table("Prompt tokens of a turn, at", [f"turn_{mark}" for mark in marks(turns)], by_mark)
    print_table("The largest prompt, and the tokens of all", _TOKENS, found)
    print_table("Model calls", _CALLS, found)
    print_table("What was said long ago, and whether its own message was in the prompt", _KNOWN, found)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.long_conversation", description=(__doc__ or "").partition("\n\n")[2].strip()
    )
    add_json_option(parser)
    parser.add_argument("--turns", type=int, default=500, help="turns of the conversation (default: %(default)s)")
    parser.add_argument("--server", action="store_true", help="measure one `langgraph dev` too")
    arguments = parser.parse_args(argv)
    if not details_of(arguments.turns):
        parser.error("--turns: nothing could be asked for at the end of so short a conversation; 7 are the least")
    load = [os.getloadavg()[0]]
    found = asyncio.run(measure(arguments.turns, server=arguments.server))
    _print(found, arguments.turns)
    ours = {f"{name}.{metric}": value for name in found if name != PEER for metric, value in found[name].items()}
    load.append(os.getloadavg()[0])
    told = {"turns": arguments.turns, "window": WINDOW, "load_average": load}
    write_json(arguments.json, ours, {PEER: found[PEER]}, told)


if __name__ == "__main__":
    main()
