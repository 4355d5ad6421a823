"""A process that runs one turn and, if asked, dies in the middle of it: `python -m tests.support.one_turn JSON`.

The argument: {"thread": ..., "text": ..., "die_at": null | "answer" | "reason" | "extract"}. What it is told to die at
is an event of the stream, and it dies by SIGKILL, as a machine that loses power does. With {"thread": ..., "turns":
[...]} it holds a conversation from wherever it broke off.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from react_mem.agents import open_agent


def _reached(mode: str, payload: Any, die_at: str | None) -> bool:
    if mode == "custom":
        return bool(payload["type"] == die_at)
    return die_at in payload


async def run(order: dict[str, Any]) -> None:
    async with open_agent("assistant") as agent:
        async for mode, payload in agent.astream(
            {"messages": [("user", order["text"])]},
            {"configurable": {"thread_id": order["thread"]}},
            context={"user_id": "ann"},
            stream_mode=["custom", "updates"],
        ):
            if _reached(mode, payload, order.get("die_at")):
                os.kill(os.getpid(), signal.SIGKILL)


async def go_on(order: dict[str, Any]) -> None:
    """Say what has not been answered yet, again under the same id, as a client does that lost its connection."""
    config: Any = {"configurable": {"thread_id": order["thread"]}}
    async with open_agent("assistant") as agent:
        state = await agent.aget_state(config)
        messages = state.values.get("messages", [])
        answered = sum(isinstance(message, AIMessage) for message in messages)
        # what was answered, but not stored before the process died, is gone on with first
        if state.next and messages and isinstance(messages[-1], AIMessage):
            await agent.ainvoke(None, config, context={"user_id": "ann"})
        for number, text in enumerate(order["turns"][answered:], start=answered):
            said = HumanMessage(text, id=f"turn-{number}")
            await agent.ainvoke({"messages": [said]}, config, context={"user_id": "ann"})


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    asyncio.run(go_on(asked) if "turns" in asked else run(asked))
