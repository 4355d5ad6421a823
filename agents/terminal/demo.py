"""`make demo`: an agent learns something in one conversation and uses it in the next, in another process."""

from __future__ import annotations

import subprocess
import sys
import uuid
from typing import Any

from rich.console import Console

from agents.opening import open_agent
from agents.terminal.turn import run_turn
from memory.facade import MemoryFacade

CONVERSATIONS = [
    [
        "Hi! My name is Lan and I live in Đà Nẵng.",
        "I am allergic to peanuts, so please be careful with recipes.",
        "Buổi sáng tôi thích uống cà phê sữa đá.",
        "What is 17 * 23?",
    ],
    [
        "What food am I allergic to?",
        "Buổi sáng tôi thích uống gì?",
    ],
]

AGENT = "assistant"


def run_demo(console: Console) -> int:
    """Hold the conversations, each in a process of its own.

    Args:
        console: Where to draw.

    Returns:
        The exit code: 0 if the second conversation used what the first taught.
    """
    # a user of its own, so that what you told the agent before neither helps nor harms
    user_id = f"demo-{uuid.uuid4().hex[:8]}"
    for number in range(1, len(CONVERSATIONS) + 1):
        console.rule(f"Conversation {number}, in a process of its own")
        sys.stdout.flush()
        part = [sys.executable, "-m", "agents.cli", "demo", "--conversation", str(number), "--user", user_id]
        done = subprocess.run(part, check=False)  # noqa: S603 - our own module
        if done.returncode:
            return done.returncode
    console.rule()
    console.print("The second conversation knew what the first was told. Talk to it yourself: [bold]make chat[/]")
    return 0


async def hold_conversation(number: int, user_id: str, console: Console) -> int:
    """Hold one of the conversations.

    Args:
        number: Which, from 1.
        user_id: The user of the demonstration.
        console: Where to draw.

    Returns:
        The exit code: 1 if a later conversation found nothing that an earlier one taught.
    """
    recalled: set[str] = set()
    thread_id = f"{user_id}-{number}"

    def watch(event: dict[str, Any]) -> None:
        if event["type"] == "memory":
            recalled.update(item["text"] for item in event.get("items", []) if item["scope"] == "semantic")

    async with open_agent(AGENT) as agent:
        for text in CONVERSATIONS[number - 1]:
            console.print(f"[bold blue]you[/]   {text}")
            await run_turn(
                agent, text, user_id=user_id, thread_id=thread_id, console=console, verbose=True, watch=watch
            )
            console.print()
        if number < len(CONVERSATIONS):
            return 0
        assert agent.store is not None  # noqa: S101 - narrows for the type checker
        for session_id in await MemoryFacade(agent.store).forget_user(user_id):
            await agent.checkpointer.adelete_thread(session_id)  # type: ignore[union-attr]
    if not recalled:
        console.print("[red]Nothing of the first conversation was remembered.[/]")
        return 1
    return 0
