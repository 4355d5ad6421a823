"""A process that runs one turn and, if asked, dies in the middle of it: `python -m tests.support.one_turn JSON`.

The argument: {"thread": ..., "text": ..., "die_at": null | "answer" | "reason" | "extract"}. What it is told to die at
is an event of the stream, and it dies by SIGKILL, as a machine that loses power does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

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


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
