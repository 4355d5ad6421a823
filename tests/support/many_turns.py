"""A process that holds a long conversation, from wherever it broke off: `python -m tests.support.many_turns JSON`.

The argument: {"agent": path of a YAML file, "thread": ..., "turns": [what the user says, ...]}. A client that lost its
connection sends its message again under the same id; so does this. At the end nothing waits to be read.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from react_mem.agents import open_agent

USER = "ann"


async def run(order: dict[str, Any]) -> None:
    """Say what has not been answered yet."""
    config: Any = {"configurable": {"thread_id": order["thread"]}}
    async with open_agent(Path(order["agent"])) as agent:
        state = await agent.aget_state(config)
        messages = state.values.get("messages", [])
        answered = sum(isinstance(message, AIMessage) for message in messages)
        # what was answered, but not stored before the process died, is gone on with first
        if state.next and messages and isinstance(messages[-1], AIMessage):
            await agent.ainvoke(None, config, context={"user_id": USER})
        for number, text in enumerate(order["turns"][answered:], start=answered):
            said = HumanMessage(text, id=f"turn-{number}")
            await agent.ainvoke({"messages": [said]}, config, context={"user_id": USER})


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
