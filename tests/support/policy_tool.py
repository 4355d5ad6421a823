"""A tool that tells under which memory policy its agent runs."""

from __future__ import annotations

from react_mem.memory.model.policy import MemoryPolicy
from react_mem.tools.registry import governed


@governed
async def show_policy(policy: MemoryPolicy) -> str:
    """Tell the settings of the memory."""
    return policy.model_dump_json()
