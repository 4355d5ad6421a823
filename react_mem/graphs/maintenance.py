"""The graph `maintenance`: concludes the conversations that have gone quiet, and reflects, now.

A worker does so by itself; this is for a cron, or by hand.
"""

from __future__ import annotations

import asyncio
from typing import Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.errors import InvalidInputError
from react_mem.memory.runtime import TurnReport, is_nobodys, maintain_all
from react_mem.memory.turns import identify, why_off


class MaintenanceContext(BaseModel):
    """Context of maintenance: the owner whose memory to work on.

    Args:
        user_id: The owner; ignored where the server authenticates users. Empty: everybody with work to do.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        title="Maintenance",
        json_schema_extra={"description": "Whose memory to work on. Everything may be left out."},
    )

    user_id: str | None = Field(
        None,
        title="User",
        description="Whose memory to work on. Ignored where the server authenticates users. Empty: everybody with work "
        "to do.",
    )


class Nothing(TypedDict):
    """Nothing: what there is to do is in memory."""


class WorkDone(TypedDict):
    """Report of a run."""

    stored: NotRequired[int]
    retired: NotRequired[int]
    waiting: NotRequired[int]
    problems: NotRequired[list[str]]


async def maintain(state: WorkDone, *, runtime: Runtime[MaintenanceContext]) -> WorkDone:
    """Pick up what crashes left, conclude the conversations that have become quiet, and reflect."""
    if runtime.store is None:
        raise ValueError("there is no memory to work on: the graph has no store")
    config: RunnableConfig = get_config()
    identity = identify(runtime, config)
    # where nobody is named, that means everybody with work to do: not for a caller who cannot own memories
    if identity is None and not is_nobodys(runtime, config):
        raise InvalidInputError(why_off(runtime, config))
    named = identity is not None and not identity.development
    runners = await asyncio.to_thread(ConfiguredRunners)
    return _summed(await maintain_all(runtime.store, runners, identity.user_id if identity and named else None))


def build_maintenance() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph that concludes quiet conversations and picks up what was left."""
    graph = StateGraph(WorkDone, MaintenanceContext, input_schema=Nothing)
    graph.add_node("maintain", maintain)
    graph.add_edge(START, "maintain")
    graph.add_edge("maintain", END)
    return graph.compile(name="maintenance")


def _summed(report: TurnReport) -> WorkDone:
    return WorkDone(
        stored=len(report.stored),
        retired=len(report.retired),
        waiting=report.waiting,
        problems=[report.problem] if report.problem else [],
    )
