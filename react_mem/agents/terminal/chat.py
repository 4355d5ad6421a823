"""`react-mem chat`: a conversation across processes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from contextlib import AbstractContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import AgentConfig
from react_mem.agents.terminal.output import NOT_FORGOTTEN, Column, Terminal, one_line
from react_mem.agents.terminal.render import Agent, Sessions, TurnProgress, TurnView, run_turn
from react_mem.errors import LegalHoldError, NotThere
from react_mem.installation import of_extra
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryQuery, MemoryScope, StorageSettings
from react_mem.memory.context import labelled

if TYPE_CHECKING:
    from react_mem.agents.terminal.prompting import InputLine

# Reading what the user types at a terminal: several lines at once, history, completion of commands.


COMMANDS = ("/memory", "/threads", "/new", "/good", "/bad", "/undo", "/forget", "/help", "/exit", "/quit")
HELP = (
    "/memory what I know of you · /threads conversations · /new conversation · /good /bad on the last answer · "
    "/undo what I took from your last words · /forget (erases everything about you) · /exit"
)

_VERDICTS: dict[str, Literal[-1, 1]] = {"/good": 1, "/bad": -1}

_SHOWN = 100
_ECHO = 1_000
_SPEECH_COLUMN = 8  # of "memory  "
_MEMORY_COLUMN = 21  # of "  2026-01-31 episode "


async def run_chat(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Hold a conversation; return the exit code. Raises `ExtraMissing` at a terminal without its input library."""
    chat = _Chat(arguments, config, settings, console)
    try:
        return await chat.run()
    except asyncio.CancelledError:
        if not chat.interactive:
            # Ctrl-C: the thread that waits for a piped line cannot be interrupted
            os._exit(130)
        raise


class _Chat:
    """A conversation at a terminal, or over a pipe; `verbose` shows every step."""

    def __init__(
        self, arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
    ) -> None:
        self._config = config
        self._user_id: str = arguments.user
        self._settings = settings
        self._console = console
        self._verbose: bool = arguments.verbose
        self.interactive = sys.stdin is not None and sys.stdin.isatty()
        self._failed = False
        coloured = bool(console.color_system) and not console.no_color and sys.stdout.isatty()
        self._prompt: InputLine | None = None
        if self.interactive:
            with of_extra("terminal"):
                from react_mem.agents.terminal.prompting import InputLine
            self._prompt = InputLine(COMMANDS, coloured=coloured)

    async def run(self) -> int:
        """Talk until the user leaves, the input ends, or nobody reads the output.

        Returns the exit code: 1 if a piped message could not be answered, or its answer could not be written.
        """
        stack = AsyncExitStack()
        with self._waiting("opening memory"):
            opening = open_agent(self._config, settings=self._settings)
            agent: Agent = await stack.enter_async_context(opening)
        try:
            sessions = Sessions(agent, self._config.name, self._user_id)
            thread_id, said = await sessions.last()
            if self._prompt is not None:
                self._prompt.remember(said)
            self._greet(said[-1] if said else "")
            while not self._console.abandoned and (line := await self._read()) is not None:
                if line in {"/exit", "/quit"}:
                    break
                if not line:
                    continue
                if line == "/forget" and not await self._is_sure():
                    self._console.say(NOT_FORGOTTEN, "dim")
                    continue
                thread_id = await self._do(agent, sessions, line, thread_id)
        finally:
            # what is still to be drawn from the conversation; Ctrl-C leaves that to the next time
            with self._waiting("remembering"):
                await stack.aclose()
        return 1 if (self._failed and not self.interactive) or self._console.abandoned else 0

    def _waiting(self, what: str) -> AbstractContextManager[object]:
        return self._console.status(f"{what} …") if self._console.is_terminal else contextlib.nullcontext()

    def _greet(self, said: str) -> None:
        self._console.whereabouts(self._config, self._settings)
        self._console.labelled("you", self._user_id)
        self._console.print(Text(HELP, style="dim"))
        if said:
            shown = one_line(said, max(self._console.width - 42, 10))
            self._console.say(f"Going on where you left, at “{shown}”", "dim")
        self._console.print()

    async def _read(self) -> str | None:
        try:
            if self._prompt is not None:
                return (await self._prompt.read("you".ljust(_SPEECH_COLUMN))).strip()
            # what goes on behind the turns does not wait for the next line
            line = await asyncio.to_thread(sys.stdin.readline) if sys.stdin is not None else ""
        except (EOFError, KeyboardInterrupt):
            self._console.print()
            return None
        if not line:
            return None
        said = line.strip()
        if said:
            TurnView(self._console, verbose=self._verbose).user(one_line(said, _ECHO))
        return said

    async def _is_sure(self) -> bool:
        if self._prompt is None:
            return True
        try:
            answer = await self._prompt.ask("forget everything about you, every conversation included? (yes/no) ")
        except (EOFError, KeyboardInterrupt):
            self._console.print()
            return False
        return answer.strip().lower() in {"y", "yes"}

    async def _do(self, agent: Agent, sessions: Sessions, line: str, thread_id: str) -> str:
        """Carry out a line, catching every error; return the conversation to go on with. Ctrl-C stops it alone."""
        outcome = TurnProgress()
        turn = asyncio.create_task(self._handle(agent, sessions, line, thread_id, outcome))
        loop = asyncio.get_running_loop()
        before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(turn.cancel))
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                raise
            kept = "; what you said is remembered" if outcome.durable else ""
            self._console.say(f"stopped{kept}", "yellow")
        except Exception as error:
            self._failed = True
            self._console.failure(error)
        finally:
            signal.signal(signal.SIGINT, before)
        self._console.print()
        return thread_id

    async def _handle(self, agent: Agent, sessions: Sessions, line: str, thread_id: str, outcome: TurnProgress) -> str:
        if line == "/memory":
            await self._show_memory(agent)
        elif line == "/threads":
            for held in (await _memory(agent).conversations(self._user_id, limit=_SHOWN)).items:
                about = one_line(held.about, max(self._console.width - 26, 10))
                self._console.say(f"  {held.last:%Y-%m-%d %H:%M}  {held.id[:8]}  {about}", "dim")
        elif line == "/new":
            await sessions.end(thread_id)
            thread_id = await sessions.new()
            self._console.say("a new conversation", "dim")
        elif line == "/undo":
            try:
                undone = await _memory(agent).undo_last(self._user_id)
            except (NotThere, LegalHoldError) as error:
                self._console.say(str(error), "yellow")
                return thread_id
            again = f"; believed again: {' '.join(undone.restored)}" if undone.restored else ""
            self._console.say(f"taken back: {' '.join(undone.texts) or 'nothing that was believed'}{again}", "dim")
        elif line == "/forget":
            try:
                receipt = await sessions.forget()
            except LegalHoldError as held:
                self._console.say(str(held), "yellow")
                return thread_id
            if self._prompt is not None:
                self._prompt.forget()
            thread_id = await sessions.new()
            self._console.say(f"forgotten: {receipt.in_short()}", "dim")
        elif line == "/help":
            self._console.print(Text(HELP, style="dim"))
        elif line.split()[0] in _VERDICTS:
            await self._judge(agent, thread_id, _VERDICTS[line.split()[0]])
        elif line.split()[0] in COMMANDS:
            self._console.say(f"{line.split()[0]} takes nothing after it", "yellow")
        elif line.startswith("/") and " " not in line and line.count("/") == 1:
            self._console.say(f"unknown command {one_line(line, 40)}", "yellow")
            self._console.print(Text(HELP, style="dim"))
        else:
            await run_turn(
                agent,
                line,
                user_id=self._user_id,
                thread_id=thread_id,
                console=self._console,
                verbose=self._verbose,
                outcome=outcome,
            )
        self._console.print()
        return thread_id

    async def _judge(self, agent: Agent, thread_id: str, score: Literal[-1, 1]) -> None:
        """Record the user's verdict on the last answer; words after it are dropped."""
        report = await _memory(agent).feedback(self._user_id, score, session_id=thread_id)
        if report is None:
            self._console.say("there is no answer yet that is remembered", "yellow")
            return
        counts = "more" if score > 0 else "less"
        said = f"noted: {report.memories} memories count {counts}" if report.memories else "noted"
        self._console.say(said, "dim")

    async def _show_memory(self, agent: Agent) -> None:
        facade = _memory(agent, MemoryPolicy.model_validate({"recall": {"max_memories": _SHOWN}}))
        results = await facade.read(
            MemoryQuery(
                user_id=self._user_id,
                session_id="terminal",
                agent_id=self._config.name,
                scopes=[MemoryScope.PROFILE, MemoryScope.SEMANTIC, MemoryScope.EPISODIC],
            )
        )
        for item in results:
            label = f"  {str(item.payload.get('created_at', ''))[:10]} {item.source}".ljust(_MEMORY_COLUMN)
            self._console.print(Text(label, style="dim"), end="")
            text = labelled(item.payload, str(item.payload.get("text", "")))
            Column(self._console, _MEMORY_COLUMN).whole(text)
        if not results:
            self._console.say("  nothing yet", "dim")
        if waiting := await facade.pending(self._user_id):
            why = "`react-mem memory pending` says why, if it lasts"
            self._console.say(f"  waiting to be read: {len(waiting)} ({why})", "yellow")


def _memory(agent: Agent, policy: MemoryPolicy | None = None) -> MemoryFacade:
    assert agent.store is not None  # noqa: S101 - narrows for the type checker
    return MemoryFacade(agent.store, policy)
