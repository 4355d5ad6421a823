"""What memory costs the user in time: milliseconds before the first word and after the last, beside `react`.

    python -m benchmarks.latency --json results/latency.json [--turns 30]

The same turns through `react` and `react_mem`, in turn, on one embedded database with the local embedder; the model is
scripted and answers at once. `react_mem` draws facts in the background, as it is shipped. Measured are the time from
the question to the first token, and from the last token to the end of the run; between them is the model's own time.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph.state import CompiledStateGraph

from agents.config import AgentConfig
from agents.resolve import build_agent, resolve_agent
from benchmarks.report import environment, print_table, write_json
from benchmarks.thread_storage import paragraph
from memory.background import background
from memory.interface import MemoryPolicy
from memory.storage import Storage, StorageSettings, open_storage

MANAGERS = ("react", "react_mem")
COLUMNS = ("before_first_token_ms", "after_last_token_ms", "model_calls_before_answer")
Graph = CompiledStateGraph[Any, Any, Any, Any]


class StreamingModel(BaseChatModel):
    """Streams a paragraph, and counts how often it is asked."""

    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "streaming"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked += 1
        return ChatResult(generations=[ChatGeneration(message=AIMessage(paragraph(f"answer {self.asked}")))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Stream it word by word."""
        self.asked += 1
        for word in paragraph(f"answer {self.asked}").split():
            chunk = ChatGenerationChunk(message=AIMessageChunk(f"{word} "))
            if run_manager:
                await run_manager.on_llm_new_token(f"{word} ", chunk=chunk)
            yield chunk


async def one_turn(graph: Graph, model: StreamingModel, manager: str, number: int) -> tuple[float, float, int]:
    """Run a turn; return milliseconds before its first token and after its last, and model calls before that."""
    asked = model.asked
    start = time.perf_counter()
    first = last = 0.0
    calls = 0
    async for _ in graph.astream(
        {"messages": [("user", paragraph(f"question {number}"))]},
        {"configurable": {"thread_id": f"{manager}-{number // 10}"}},
        context={"user_id": "ann"},
        stream_mode="messages",
    ):
        last = time.perf_counter()
        if not first:
            first, calls = last, model.asked - asked - 1
    end = time.perf_counter()
    return (first - start) * 1000, (end - last) * 1000, calls


async def measure(turns: int, storage: Storage) -> dict[str, dict[str, float]]:
    """Measure both managers, turn by turn, so that a busy machine is busy for both."""
    policy = MemoryPolicy.model_validate({"debounce": 3600})
    models = {manager: StreamingModel() for manager in MANAGERS}
    graphs = {
        manager: build_agent(
            resolve_agent(
                AgentConfig(name="benchmark", manager=manager, system_prompt="You help.", memory=policy),
                model=models[manager],
            ),
            store=storage.store,
            checkpointer=storage.checkpointer,
        )
        for manager in MANAGERS
    }
    found: dict[str, list[tuple[float, float, int]]] = {manager: [] for manager in MANAGERS}
    for number in range(turns + 3):
        for manager in MANAGERS:
            found[manager].append(await one_turn(graphs[manager], models[manager], manager, number))
    await background().drain(0)
    return {
        manager: dict(zip(COLUMNS, (_median(column) for column in zip(*rows[3:], strict=True)), strict=True))
        for manager, rows in found.items()
    }


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 2)


async def run(turns: int) -> dict[str, dict[str, float]]:
    """Measure on an embedded database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        settings = StorageSettings.model_validate({"data_dir": Path(folder) / "postgres", "embedding": "local"})
        async with open_storage(settings) as storage:
            return await measure(turns, storage)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="where to write the result")
    parser.add_argument("--turns", type=int, default=30)
    arguments = parser.parse_args()
    rows = asyncio.run(run(arguments.turns))
    difference = {column: round(rows["react_mem"][column] - rows["react"][column], 2) for column in COLUMNS}
    print_table(f"Latency, median of {arguments.turns} turns", COLUMNS, {**rows, "difference": difference})
    metrics = {f"{manager}.{name}": value for manager, row in rows.items() for name, value in row.items()}
    metrics |= {f"difference.{name}": value for name, value in difference.items()}
    write_json(arguments.json, metrics, {}, {**environment(), "turns": arguments.turns})


if __name__ == "__main__":
    main()
