"""One turn of a conversation in the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.graph.state import CompiledStateGraph
from rich.console import Console

from agents.terminal.render import TurnView

Agent = CompiledStateGraph[Any, Any, Any, Any]
Watch = Callable[[dict[str, Any]], None]


async def run_turn(
    agent: Agent,
    text: str,
    *,
    user_id: str,
    thread_id: str,
    console: Console,
    verbose: bool,
    watch: Watch | None = None,
) -> None:
    """Send a message and draw what the agent does with it.

    Args:
        agent: The agent.
        text: The user's message.
        user_id: Whose memory to use.
        thread_id: The conversation.
        console: Where to draw.
        verbose: Show every step, not the answer alone.
        watch: Called with every event.
    """
    view = TurnView(console, verbose=verbose)
    stream: AsyncIterator[Any] = agent.astream(
        {"messages": [{"role": "user", "content": text}]},
        context={"user_id": user_id},
        config={"configurable": {"thread_id": thread_id}},
        stream_mode=["messages", "custom"],
    )
    async for mode, payload in stream:
        if mode == "custom":
            view.event(payload)
            if watch:
                watch(payload)
        elif not verbose:
            chunk, _ = payload
            if isinstance(chunk, AIMessageChunk) and chunk.text:
                view.token(chunk.text)
