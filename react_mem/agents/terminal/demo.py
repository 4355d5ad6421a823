"""`react-mem demo`: an agent learns in one conversation and remembers in the next; `react-mem new`.

Without a database, as after a plain install, the memory ends with the process.
"""

from __future__ import annotations

import argparse
import asyncio
import uuid
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from rich.text import Text

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import load_agent_config
from react_mem.agents.new_project import write_project
from react_mem.agents.terminal.output import Terminal
from react_mem.agents.terminal.render import Agent, Sessions, TurnProgress, TurnView, run_turn
from react_mem.installation import pip_install, with_extra
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import has_embedded_server

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

_IN_MEMORY = "in this process alone: there is no database to keep it in"
_TO_KEEP_IT = """\
Nothing of it is kept. For a memory that outlives the process, with an embedded database and a local embedding model:
  pipx run --spec "{spec}" react-mem demo
  uvx --from "{spec}" react-mem demo
  {pip}
"""


async def run_demo(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Hold the conversations; return the exit code: 0 if the second one used the memories of the first."""
    # a user of its own, so that what you told the agent before neither helps nor harms
    user_id = f"demo-{uuid.uuid4().hex[:8]}"
    config = await asyncio.to_thread(load_agent_config, AGENT)
    has_database = settings.database_url is not None or has_embedded_server()
    opening: dict[str, Any] = {"settings": settings}
    if not has_database:
        opening = {"store": InMemoryStore(), "checkpointer": InMemorySaver()}
    console.whereabouts(config, settings if has_database else _IN_MEMORY)
    console.print()
    # what is stored is to be seen before the next message
    memory = config.memory.model_copy(update={"extraction": {"mode": "inline"}})
    for number in range(1, len(CONVERSATIONS) + 1):
        console.rule(f"Conversation {number}")
        async with open_agent(config.model_copy(update={"memory": memory}), **opening) as agent:
            if code := await _talk(number, user_id, agent, console):
                return code
    console.rule()
    console.print("The second conversation knew what the first was told.")
    if has_database:
        console.print("Talk to it yourself: [bold]react-mem chat[/], or [bold]make chat[/].")
    else:
        told = _TO_KEEP_IT.format(spec=with_extra("local"), pip=pip_install("local"))
        console.print(Text(told), end="", soft_wrap=True)
    return 0


async def _talk(number: int, user_id: str, agent: Agent, console: Terminal) -> int:
    outcome = TurnProgress()
    last = number == len(CONVERSATIONS)
    code = 1
    try:
        for text in CONVERSATIONS[number - 1]:
            if console.abandoned:
                break
            TurnView(console, verbose=True).user(text)
            thread_id = f"{user_id}-{number}"
            await run_turn(
                agent, text, user_id=user_id, thread_id=thread_id, console=console, verbose=True, outcome=outcome
            )
            console.print()
        code = 1 if console.abandoned or (last and not outcome.recalled) else 0
    except Exception as error:
        console.failure(error)
    else:
        if last and not outcome.recalled:
            console.print("[red]Nothing of the first conversation was remembered.[/]")
    finally:
        if last or code:
            await Sessions(agent, AGENT, user_id).forget()
    return code


# `react-mem new`: a project of one's own around an agent.

_NEXT = """
Next:
  cd {name}
  make install   # pip install -e ".[dev]"
  make test
  make chat
  make dev       # a LangGraph server: http://127.0.0.1:2024, or the address that it prints where that port is taken"""


async def run_new(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Write a project of the user's own; return the exit code. Raises `ProjectError`."""
    name: str = arguments.name
    files = await asyncio.to_thread(write_project, name, Path.cwd())
    lines = [f"Written: {name}", *(f"  {file}" for file in files), _NEXT.format(name=name)]
    console.say("\n".join(lines))
    return 0
