"""A graph that fails as it is asked to, served beside the others of a server under test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypedDict

import httpx
import psycopg
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from react_mem.errors import (
    AgentConfigError,
    DatabaseUnavailable,
    DeadlineExceeded,
    LegalHoldError,
    MemoryChanged,
    MemoryFull,
    ModelCallError,
    ModelRejected,
    QuotaExceeded,
    StorageError,
)
from react_mem.graphs.server import guard_clients

SECRET: Final = "quagga-4711"

PLACE: Final = "db.quagga-4711.internal"

OURS: Final[dict[str, Callable[[], Exception]]] = {
    "model": lambda: ModelCallError("The model 'm' refused the API key (401). Check OPENAI_API_KEY."),
    "hold": lambda: LegalHoldError("it is under the legal hold case-7", reference="case-7"),
    "changed": MemoryChanged,
    "full": lambda: MemoryFull("memories", 10, 10),
    "quota": lambda: QuotaExceeded("messages_a_day", 3, datetime.now(UTC) + timedelta(hours=1)),
    "extraction": lambda: ModelRejected("the model refused the request with HTTP 400"),
    "deadline": lambda: DeadlineExceeded("the model did not answer within 60 seconds"),
}
"""Errors of ours that hold nothing but what a client may read."""

OF_A_PLACE: Final[dict[str, Callable[[], Exception]]] = {
    "database": lambda: DatabaseUnavailable(f"The database at {PLACE}:5432/memories does not answer."),
    "storage": lambda: StorageError(f"the key file /srv/{SECRET}/key cannot be read"),
    "config": lambda: AgentConfigError(f"/srv/{SECRET}/agents/a.yaml is not a valid agent config"),
    "address": lambda: ModelCallError(f"The model cannot be reached (https://{PLACE}:8080/v1, key=sk-{SECRET}aaaa)."),
}
"""Errors of ours that name a host, a file or a key."""

FOREIGN: Final[dict[str, Callable[[], Exception]]] = {
    "value": lambda: ValueError(f"could not convert: my diary says {SECRET}"),
    "key": lambda: KeyError(SECRET),
    "type": lambda: TypeError(f"unsupported operand: {SECRET}"),
    "runtime": lambda: RuntimeError(f"/srv/{SECRET}/secrets.env"),
    "timeout": lambda: TimeoutError(f"{PLACE} did not answer"),
    "http": lambda: httpx.ConnectError(f"https://ann:{SECRET}@{PLACE}/v1"),
    "sql": lambda: psycopg.errors.UniqueViolation(f"INSERT INTO store VALUES ('{SECRET}')"),
}
"""Errors of somebody else, with what none of them may tell."""


class Asked(TypedDict):
    """How to fail: a name of the errors above, or `interrupt`."""

    fail: str


async def fail(state: Asked) -> dict[str, Any]:
    """Fail as asked."""
    if state["fail"] == "interrupt":
        return {"fail": interrupt("may I?")}
    if state["fail"] == "cancelled":
        raise asyncio.CancelledError
    if state["fail"] not in ("edge", "no"):
        raise (OURS | OF_A_PLACE | FOREIGN)[state["fail"]]()
    return {}


def _after(state: Asked) -> str:
    if state["fail"] == "edge":
        raise ValueError(f"no such branch: {SECRET}")
    return END


def _build() -> Any:
    graph = StateGraph(Asked)
    graph.add_node("fail", fail)
    graph.add_edge(START, "fail")
    graph.add_conditional_edges("fail", _after, [END])
    return graph.compile(name="failing")


unguarded = _build()
failing = guard_clients(_build())
