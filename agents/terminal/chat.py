"""`make chat`: a conversation that goes on across processes."""

from __future__ import annotations

import asyncio
import sys
import uuid
from contextlib import AsyncExitStack
from typing import Any

from rich.console import Console
from rich.text import Text

from agents.config import AgentConfig
from agents.opening import open_agent
from agents.terminal.turn import Agent, run_turn
from memory.facade import MemoryFacade
from memory.interface import MemoryPolicy, MemoryQuery, MemoryScope
from memory.namespaces import encode

HELP = "/memory what I know of you · /new a new conversation · /forget all of it · /exit"

_SHOWN = 100
"""Memories that /memory lists."""


class Chat:
    """A conversation at a terminal, or over a pipe.

    Args:
        config: The agent.
        user_id: Whose memory to use.
        console: Where to draw.
        verbose: Show every step, not the answers alone.
    """

    def __init__(self, config: AgentConfig, user_id: str, console: Console, *, verbose: bool = False) -> None:
        self._config = config
        self._user_id = user_id
        self._console = console
        self._verbose = verbose
        self._interactive = sys.stdin.isatty()
        self._failed = False

    def run(self) -> int:
        """Talk until the user leaves or the input ends.

        The event loop runs only while there is something to do: waiting for a line in the main thread is what lets
        Ctrl-C end a turn without ending the program.

        Returns:
            The exit code: 1 if a piped message could not be answered.
        """
        with asyncio.Runner() as runner:
            stack = AsyncExitStack()
            agent: Agent = runner.run(stack.enter_async_context(open_agent(self._config)))
            try:
                thread_id = runner.run(self._last_thread(agent))
                name = f"{self._config.name} · {self._config.manager} · you are {self._user_id}"
                self._console.print(Text(name, style="dim"))
                self._console.print(Text(HELP, style="dim"))
                while (line := self._read()) is not None:
                    if not line.strip():
                        continue
                    if line.strip() in {"/exit", "/quit"}:
                        break
                    try:
                        thread_id = runner.run(self._handle(agent, line.strip(), thread_id))
                    except KeyboardInterrupt:
                        self._console.print("\n[yellow]stopped; what you said is remembered[/]")
                    except Exception as error:
                        self._failed = True
                        self._console.print(Text(str(error) or type(error).__name__, style="red"), soft_wrap=True)
            finally:
                runner.run(stack.aclose())
        return 1 if self._failed and not self._interactive else 0

    def _read(self) -> str | None:
        """Return the next line; None where the user leaves."""
        try:
            if self._interactive:
                return self._console.input("[bold blue]you[/]   ")
            line = sys.stdin.readline()
        except (EOFError, KeyboardInterrupt):
            self._console.print()
            return None
        if line.strip():
            self._console.print(Text.assemble(("you", "bold blue"), "   ", line.rstrip("\n")), soft_wrap=True)
        return line or None

    async def _handle(self, agent: Agent, line: str, thread_id: str) -> str:
        """Do what a line asks; return the conversation to go on with."""
        if line == "/memory":
            await self._show_memory(agent)
        elif line == "/new":
            return await self._new_thread(agent)
        elif line == "/forget":
            return await self._forget(agent, thread_id)
        elif line.startswith("/"):
            self._console.print(Text(f"unknown command {line.split()[0]!r}; {HELP}", style="yellow"))
        else:
            await run_turn(
                agent,
                line,
                user_id=self._user_id,
                thread_id=thread_id,
                console=self._console,
                verbose=self._verbose,
            )
        return thread_id

    async def _show_memory(self, agent: Agent) -> None:
        facade = MemoryFacade(_store(agent), MemoryPolicy(max_memories=_SHOWN))
        results = await facade.read(
            MemoryQuery(
                user_id=self._user_id,
                session_id="terminal",
                agent_id=self._config.name,
                scopes=[MemoryScope.PROFILE, MemoryScope.SEMANTIC, MemoryScope.EPISODIC],
            )
        )
        waiting = await facade.pending(self._user_id)
        for item in results:
            date = str(item.payload.get("created_at", ""))[:10]
            self._console.print(Text(f"  {date}  {item.source:8} {item.payload.get('text', '')}"), soft_wrap=True)
        if not results:
            self._console.print(Text("  nothing yet", style="dim"))
        if waiting:
            self._console.print(Text(f"  {len(waiting)} turns wait to be read by a model", style="yellow"))

    async def _forget(self, agent: Agent, thread_id: str) -> str:
        if self._interactive:
            answer = await asyncio.to_thread(
                self._console.input, "forget everything about you, this conversation included? (yes/no) "
            )
            if answer.strip().lower() not in {"y", "yes"}:
                return thread_id
        sessions = await MemoryFacade(_store(agent)).forget_user(self._user_id)
        for session_id in {*sessions, thread_id}:
            await agent.checkpointer.adelete_thread(session_id)  # type: ignore[union-attr]
        self._console.print(Text("forgotten", style="dim"))
        return await self._new_thread(agent)

    async def _last_thread(self, agent: Agent) -> str:
        """Return the conversation that the user left, which goes on where it stopped."""
        item = await _store(agent).aget(self._namespace, "thread")
        return str(item.value["id"]) if item else await self._new_thread(agent)

    async def _new_thread(self, agent: Agent) -> str:
        thread_id = str(uuid.uuid4())
        await _store(agent).aput(self._namespace, "thread", {"id": thread_id}, index=False)
        return thread_id

    @property
    def _namespace(self) -> tuple[str, ...]:
        return ("terminal", encode(self._user_id), encode(self._config.name))


def _store(agent: Agent) -> Any:
    return agent.store
