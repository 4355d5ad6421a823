"""One turn of a conversation in the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.graph.state import CompiledStateGraph
from rich.console import Console

from react_mem.agents.terminal.render import TurnView

Agent = CompiledStateGraph[Any, Any, Any, Any]


@dataclass
class TurnProgress:
    """State of a turn so far.

    Args:
        durable: Whether memory has what the user said.
        recalled: The facts that were retrieved.
    """

    durable: bool = False
    recalled: set[str] = field(default_factory=set)

    def note(self, event: dict[str, Any]) -> None:
        """Take in one event of the custom stream (see `graphs.events`)."""
        if event["type"] == "memory" and event["operation"] == "retrieve" and event["status"] == "ok":
            self.durable = True
            self.recalled |= {item["text"] for item in event["items"] if item["scope"] == "semantic"}


async def run_turn(
    agent: Agent,
    text: str,
    *,
    user_id: str,
    thread_id: str,
    console: Console,
    verbose: bool,
    outcome: TurnProgress,
) -> None:
    """Send a message and draw what the agent does with it.

    Args:
        agent: The agent.
        text: The user's message.
        user_id: Whose memory to use.
        thread_id: The conversation.
        console: Where to draw.
        verbose: Show every step, not the answer alone.
        outcome: Filled in as the turn goes, so that a turn that is stopped has told how far it came.
    """
    view = TurnView(console, verbose=verbose)
    view.waiting("recalling")
    stream: AsyncIterator[Any] = agent.astream(
        {"messages": [{"role": "user", "content": text}]},
        context={"user_id": user_id},
        config={"configurable": {"thread_id": thread_id}},
        stream_mode=["messages", "custom"],
    )
    try:
        async for mode, payload in stream:
            if mode == "custom":
                view.event(payload)
                outcome.note(payload)
            elif not verbose:
                chunk, _ = payload
                # Text that comes with a call is a thought, not meant for the user.
                if isinstance(chunk, AIMessageChunk) and chunk.text and not chunk.tool_call_chunks:
                    view.token(chunk.text, chunk.id)
    finally:
        view.close()
