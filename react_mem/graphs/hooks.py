"""Memory for any node: read before it, write after it, under a policy; a failing memory never fails the node."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from react_mem.errors import QuotaExceeded
from react_mem.memory import MemoryPolicy, MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.context import text_of
from react_mem.memory.runtime import Turns
from react_mem.memory.turns import AgentMemory, Identity, TurnMemory, scrub


@dataclass(frozen=True)
class Remember:
    """One record for memory, as `data` of a `MemoryWriteEvent` has it; the hook adds the owner."""

    scope: MemoryScope
    data: dict[str, Any]
    meta: dict[str, Any] = field(default_factory=dict)


def with_memory(
    node: Callable[..., Awaitable[dict[str, Any]]],
    *,
    agent_id: str,
    flow_id: str | None = None,
    task_type: str | None = None,
    read: Sequence[MemoryScope] = (),
    write: Callable[[Any, dict[str, Any]], Iterable[Remember]] | None = None,
    policy: MemoryPolicy | None = None,
    query: Callable[[Any], str] | None = None,
) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return a node that reads memory before another node runs and writes after it.

        graph.add_node("plan", with_memory(plan, agent_id="planner", read=[MemoryScope.EPISODIC]))

    The owner is the run's (see `memory.model.identity`), never named by the node. Without an owner or a store, and
    where memory fails, the node runs without memories and a `memory` event says so.

    Args:
        node: An async node `(state, runtime, *, memories)`.
        agent_id: The agent that it is a part of.
        flow_id: The flow that it is a part of.
        task_type: Kind of its task: narrows the skills and experience that are read.
        read: The scopes to read; the policy may turn some of them off.
        write: From the state and the node's result to the records to keep. By default the step itself is logged as
            experience, if the policy says so: the question, the result, and the duration. A node that fails is logged
            so in any case.
        policy: Policy of reading and writing.
        query: From the state to the query; by default the text of the last message.

    Returns:
        The node, to be added to a graph.
    """
    name = getattr(node, "__name__", type(node).__name__)
    policy = policy or MemoryPolicy.model_validate({})
    about = {"agent_id": agent_id, "flow_id": flow_id, "node_id": name}

    async def remembering(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        memory = TurnMemory.of(AgentMemory(agent_id, policy), runtime, node=name)
        asked = (query or _last_message)(state)
        wanted = {"scopes": list(read), "query": asked or None, "task_type": task_type, **about}
        recalled = await memory.begin(lambda who: MemoryQuery.model_validate(_whose(who) | wanted))
        if recalled.read:
            memory.found(recalled.results, recalled.results.missing)
        started = time.monotonic()

        async def keep(kept: Callable[[], Iterable[Remember]]) -> None:
            if (turns := memory.turns) is not None:
                await memory.end(turns, write_all(turns, kept))

        async def write_all(turns: Turns, kept: Callable[[], Iterable[Remember]]) -> None:
            for one in kept():
                given = {"scope": one.scope, "data": one.data, "meta": one.meta}
                await turns.memory.write(MemoryWriteEvent.model_validate(_whose(turns) | about | given))

        def step(result: dict[str, Any] | None, error: str = "") -> list[Remember]:
            taken = {
                "task_type": task_type or flow_id or "",
                "tool": name,
                "input": {"query": asked},
                "output": _shown(result or {}),
                "error": error,
                "success": not error,
                "latency": time.monotonic() - started,
            }
            return [Remember(MemoryScope.EXPERIENCE, taken)]

        try:
            result = await node(state, runtime, memories=recalled.results)
        except (GraphBubbleUp, QuotaExceeded):
            # an interrupt is not an outcome yet: the node runs again; and what was refused was not attempted
            raise
        except Exception as error:
            cause = f"{type(error).__name__}: {scrub(error)}"
            await keep(lambda: step(None, cause))
            raise
        await keep(lambda: write(state, result) if write else step(result))
        return result

    # a graph reads the state's type, the name and what to hand over off the function
    hints = get_type_hints(node if inspect.isroutine(node) else type(node).__call__)
    [first, *_] = inspect.signature(node).parameters
    if first in hints:
        remembering.__annotations__["state"] = hints[first]
    remembering.__name__ = remembering.__qualname__ = name
    remembering.__doc__ = node.__doc__
    return remembering


def _whose(who: Identity | Turns) -> dict[str, Any]:
    return {"user_id": who.user_id, "session_id": who.session_id}


def _last_message(state: Any) -> str:
    messages = state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())
    return text_of(messages[-1]) if messages and isinstance(messages[-1], BaseMessage) else ""


def _shown(result: dict[str, Any]) -> str:
    def said(value: Any) -> str:
        values = value if isinstance(value, list) else [value]
        return "; ".join(text_of(one) if isinstance(one, BaseMessage) else str(one) for one in values)

    return "\n".join(f"{name}: {said(value)}" for name, value in result.items())
