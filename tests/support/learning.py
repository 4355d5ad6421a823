"""Turns by the tools they took, and a memory to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import put
from react_mem.memory.model.states import Skill
from react_mem.memory.reflect.skill_learner import record_turn
from react_mem.memory.scopes import steps_to_experience

TOOLS = ("search", "compare", "stock", "order", "mail")
AGENT = "buyer"


def steps(said: str, **arguments: Any) -> list[dict[str, Any]]:
    """Return steps: "search compare! compare" is a step that works, one that fails and one that works."""
    return [
        {
            "action": word.rstrip("!"),
            "arguments": arguments or {"query": "tea"},
            "observation": "" if word.endswith("!") else "done",
            "error": "it did not work" if word.endswith("!") else "",
        }
        for word in said.split()
    ]


async def did(
    memory: MemoryFacade,
    said: str,
    session_id: str,
    *,
    user_id: str = "ann",
    offered: Sequence[str] = (),
    success: bool | None = None,
    goal: str = "please buy it",
    task_type: str = "shop",
    **arguments: Any,
) -> list[Skill]:
    """Let a turn happen, as a graph would log it."""
    turn_id = f"turn of {session_id}"
    taken = steps(said, **arguments)
    logged = steps_to_experience(taken, session_id=session_id, agent_id=AGENT, turn_id=turn_id, task_type=task_type)
    await memory.apply([put(user_id, step) for step in logged])
    return await record_turn(
        memory,
        user_id,
        session_id=session_id,
        agent_id=AGENT,
        turn_id=turn_id,
        offered=offered,
        steps=taken,
        success=success,
        task_type=task_type,
        goal=goal,
    )


async def skills(memory: MemoryFacade, user_id: str = "ann") -> list[Skill]:
    """Return a user's procedures, whatever their status."""
    found = await memory.list_records(user_id, [MemoryScope.PROCEDURAL])
    return [skill for item in found if (skill := Skill.from_value(item.payload)).tool_sops]
