"""`react-mem demo`: an agent learns in one conversation and remembers in the next, in another process; `react-mem new`.

Without a database, as after a plain install, both run in this process, in a memory that ends with it.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
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


def run_demo(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Hold the conversations, each in a process of its own; in this one without a database.

    Returns the exit code: 0 if the second conversation used the memories of the first.
    """
    if arguments.conversation is not None:
        return asyncio.run(_hold(arguments.conversation, arguments.user, console, settings=settings))
    # a user of its own, so that what you told the agent before neither helps nor harms
    user_id = f"demo-{uuid.uuid4().hex[:8]}"
    if settings.database_url is None and not has_embedded_server():
        return _in_this_process(user_id, console)
    console.whereabouts(load_agent_config(AGENT), settings)
    console.print()
    for number in range(1, len(CONVERSATIONS) + 1):
        console.rule(f"Conversation {number}, in a process of its own")
        if console.abandoned:
            return 1
        # -P: a folder `agents` where the user stands is not ours
        ours = [sys.executable, "-P", "-m", "react_mem.agents.entry"]
        part = [*ours, "demo", "--conversation", str(number), "--user", user_id]
        done = subprocess.run(part, check=False)  # noqa: S603 - our own module
        if done.returncode:
            return done.returncode
    console.rule()
    console.print("The second conversation knew what the first was told.")
    console.print("Talk to it yourself: [bold]react-mem chat[/], or [bold]make chat[/].")
    return 0


def _in_this_process(user_id: str, console: Terminal) -> int:
    console.whereabouts(load_agent_config(AGENT), _IN_MEMORY)
    console.print()
    store, checkpointer = InMemoryStore(), InMemorySaver()
    for number in range(1, len(CONVERSATIONS) + 1):
        console.rule(f"Conversation {number}")
        if code := asyncio.run(_hold(number, user_id, console, store=store, checkpointer=checkpointer)):
            return code
    console.rule()
    console.print("The second conversation knew what the first was told.")
    told = _TO_KEEP_IT.format(spec=with_extra("local"), pip=pip_install("local"))
    console.print(Text(told), end="", soft_wrap=True)
    return 0


async def _hold(number: int, user_id: str, console: Terminal, **opening: Any) -> int:
    config = await asyncio.to_thread(load_agent_config, AGENT)
    # what is stored is to be seen before the next message
    memory = config.memory.model_copy(update={"extraction": {"mode": "inline"}})
    async with open_agent(config.model_copy(update={"memory": memory}), **opening) as agent:
        return await _talk(number, user_id, agent, console)


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


def run_new(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Write a project of the user's own; return the exit code. Raises `ProjectError`."""
    name: str = arguments.name
    files = write_project(name, Path.cwd())
    lines = [f"Written: {name}", *(f"  {file}" for file in files), _NEXT.format(name=name)]
    console.say("\n".join(lines))
    return 0
