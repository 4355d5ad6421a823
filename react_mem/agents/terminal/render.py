"""View of a turn's events, drawn with rich: speakers at the margin, steps indented below, all text in one column."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.graph.state import CompiledStateGraph
from markdown_it import MarkdownIt
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment, Segments
from rich.status import Status
from rich.text import Text

from react_mem.agents.terminal.output import Column, one_line, printable
from react_mem.integrations.coding_hooks.owed_notes import forget_owed
from react_mem.memory import MemoryFacade, Receipt
from react_mem.memory.runtime import terminal_namespace
from react_mem.memory.turns import conclude_soon

# An answer as Markdown, beside its label.

_MIN_WIDTH = 20
_TAIL = 4_000
"""Characters of an unfinished answer of which the end is shown: more than a screen."""


class MarkdownColumn:
    """A column of Markdown, drawn when it is complete; until then the end of its text shows."""

    def __init__(self, console: Console, label: Text) -> None:
        self._console = console
        self._label = label
        self._width = max(console.width - label.cell_len, _MIN_WIDTH)
        self._text = ""
        self._live = Live(console=console, transient=True, refresh_per_second=10)

    def write(self, text: str) -> None:
        """Add a piece of the answer."""
        self._text += printable(text)
        tail = Text(self._text[-_TAIL:].rstrip(), style="dim").wrap(self._console, self._width)
        self._live.start()
        self._live.update(Text("\n").join(self._beside(tail[-max(self._console.height - 4, 1) :])))

    def close(self) -> None:
        """Draw the answer."""
        self._live.stop()
        options = self._console.options.update(width=self._width)
        rows = _trimmed(self._console.render_lines(_markdown(self._text), options, pad=False))
        for margin, row in zip(self._beside([Text()] * len(rows)), rows, strict=True):
            self._console.print(margin, end="", soft_wrap=True)
            self._console.print(Segments(row), end="", soft_wrap=True)
            self._console.print()

    def _beside(self, lines: Sequence[Text]) -> list[Text]:
        margin = Text(" " * self._label.cell_len)
        return [(margin if number else self._label) + line for number, line in enumerate(lines)]


def _markdown(text: str) -> Markdown:
    """Return Markdown with tags as text and line breaks as such, as in a chat."""
    markdown = Markdown("")
    parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
    markdown.parsed = parser.parse(text)
    for token in markdown.parsed:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return markdown


def _trimmed(rows: list[list[Segment]]) -> list[list[Segment]]:
    """Return lines without white space at their ends, unless it is coloured, and without empty ones around them."""
    trimmed = []
    for row in rows:
        cells = list(row)
        while cells and not (cells[-1].style and cells[-1].style.bgcolor):
            last = cells.pop()
            if text := last.text.rstrip():
                cells.append(Segment(text, last.style, last.control))
                break
        trimmed.append(cells)
    filled = [place for place, cells in enumerate(trimmed) if cells]
    return trimmed[filled[0] : filled[-1] + 1] if filled else []


_RETRIEVED = 3
"""Memories shown of the retrieved: enough to see the basis of the answer."""
_STORED = 5
_OBSERVATION_CHARS = 500
_SCOPES = {"semantic": "fact", "dialog": "said", "episodic": "episode", "profile": "profile"}
_STEP_COLUMN = 15  # of "  observation  "
_SPEECH_COLUMN = 8  # of "memory  "


class TurnView:
    """View of one turn, drawn while it runs; `verbose` shows the memories, thoughts and actions too."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._column: Column | MarkdownColumn | None = None
        self._streamed = ""
        self._message: str | None = None
        self._status: Status | None = None
        self._next: list[str] = []

    def user(self, text: str) -> None:
        """Draw the user's message."""
        self._label("you", "bold blue").whole(text.strip())

    def waiting(self, what: str) -> None:
        """Show a spinner until anything is drawn; on a terminal only."""
        self._rest()
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            spinner = "line" if self._console.options.ascii_only else "dots"
            self._status = self._console.status(Text(f"{what} …", style="dim"), spinner=spinner)
            self._status.start()

    def token(self, text: str, message_id: str | None) -> None:
        """Draw a piece of a message as it is written."""
        if message_id != self._message:
            self._end_message()
            self._message = message_id
        if self._column is None:
            text = text.lstrip()
            if not text:
                return
            self._column = self._speech()
        self._streamed += text
        self._column.write(text)

    def event(self, event: dict[str, Any]) -> None:
        """Draw one event of the custom stream (see `graphs.events`)."""
        kind = event.get("type")
        if kind == "answer":
            self._answer(str(event["text"]))
            self.waiting("remembering")
        elif kind == "memory":
            self._memory(event)
        elif kind == "model" and event["status"] != "ok":
            # that it is back is not news, and would come between an answer's words
            self._step("model", str(event["message"]), style="yellow")
        elif kind == "switch" and self._verbose:
            self._switched(event)
        elif kind == "suggestion":
            self._next.append(f"{event['text']} ({event['tool']})")
        elif kind == "thought" and self._verbose:
            self._step("thought", str(event["text"]))
        elif kind == "action":
            arguments = ", ".join(f"{name}={value!r}" for name, value in event["args"].items())
            if self._verbose:
                self._step("action", f"{event['name']}({arguments})")
            self._end_message()
            self.waiting(printable(str(event["name"])))
        elif kind == "observation":
            if self._verbose:
                self._step("error" if event["error"] else "observation", str(event["content"])[:_OBSERVATION_CHARS])
            self.waiting("thinking")

    def close(self) -> None:
        """End an unfinished message: the turn is over, or it was stopped."""
        self._end_message()
        suggested, self._next = self._next, []
        self._steps("next", suggested, len(suggested), whole=False)

    def _answer(self, text: str) -> None:
        if self._streamed.strip() == text.strip():
            self._end_message()
            return
        # nothing was streamed, or something else: the thought before a tool call, an answer that was replaced
        self._end_message()
        column = self._speech()
        column.write(text.strip())
        column.close()

    def _switched(self, event: dict[str, Any]) -> None:
        if event["status"] != "ok":
            self._step("chosen", str(event["message"]), style="yellow")
        for label in ("tools", "layers"):
            if event[label] is not None and (label == "tools" or event[label]):
                self._step(label, ", ".join(event[label]))
        if event["snapshot"]:
            self._step("snapshot", "of this turn, behind it")

    def _memory(self, event: dict[str, Any]) -> None:
        retrieves = event["operation"] == "retrieve"
        if event["status"] != "ok":
            self._step("memory", str(event["message"]), style="yellow")
        if self._verbose:
            # what has no score, such as the profile, is in every prompt and no finding
            items = sorted(event.get("items", []), key=lambda item: -(item["score"] or 0.0))
            found = [f"({_SCOPES.get(item['scope'], item['scope'])}) {item['text']}" for item in items]
            self._steps("retrieved", found, _RETRIEVED, whole=False)
            self._steps("stored", event.get("stored", []), _STORED)
            self._steps("retired", event.get("retired", []), _STORED)
            if event["status"] == "ok" and event["message"]:
                self._step("memory", str(event["message"]))
        if retrieves:
            self.waiting("thinking")

    def _steps(self, label: str, texts: list[str], shown: int, *, whole: bool = True) -> None:
        room = self._console.width - _STEP_COLUMN if self._console.is_terminal else 200
        for text in texts[:shown]:
            self._step(label, text if whole else one_line(text, room))
            label = ""
        if len(texts) > shown:
            self._step("", f"and {len(texts) - shown} more")

    def _step(self, label: str, text: str, style: str = "dim") -> None:
        self._end_message()
        indent = "  " if self._verbose else ""
        self._label(f"{indent}{label}", style, style if style != "dim" else "").whole(text.strip())

    def _speech(self) -> Column | MarkdownColumn:
        """Return the column of an answer: plain in a pipe or a file, Markdown on a terminal."""
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            return self._label("agent", "bold green")
        self._rest()
        width = _STEP_COLUMN if self._verbose else _SPEECH_COLUMN
        return MarkdownColumn(self._console, Text("agent".ljust(width), style="bold green"))

    def _label(self, label: str, style: str, text_style: str = "") -> Column:
        self._rest()
        width = _STEP_COLUMN if self._verbose else _SPEECH_COLUMN
        self._console.print(Text(label.ljust(width), style=style), end="", soft_wrap=True)
        return Column(self._console, width, text_style)

    def _end_message(self) -> None:
        self._rest()
        if self._column is not None:
            self._column.close()
        self._column, self._streamed = None, ""

    def _rest(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


# One turn of a conversation in the terminal.

Agent = CompiledStateGraph[Any, Any, Any, Any]


@dataclass
class TurnProgress:
    """State of a running turn: true once memory has the user's words (`durable`), and the retrieved facts."""

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
    """Send a message and draw the turn; `outcome` is filled in as it goes, for a turn that is stopped."""
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


# Conversations of a user in the terminal: the last one goes on, and all of them can be forgotten.

_LAST = "last"


class Sessions:
    """The terminal conversations of one user with one agent."""

    def __init__(self, agent: Agent, name: str, user_id: str) -> None:
        self._agent = agent
        self._store: Any = agent.store
        self._user_id = user_id
        self._namespace = terminal_namespace(user_id, name)

    async def last(self) -> tuple[str, list[str]]:
        """Return the last conversation, which goes on, and the user's messages in it."""
        item = await self._store.aget(self._namespace, _LAST)
        if item is None:
            return await self.new(), []
        thread_id = str(item.value["thread_id"])
        state = await self._agent.aget_state({"configurable": {"thread_id": thread_id}})
        return thread_id, [message.text for message in state.values.get("messages", []) if message.type == "human"]

    async def new(self) -> str:
        """Begin a conversation; return its thread."""
        thread_id = str(uuid.uuid4())
        # kept one by one: an agent without memory leaves no other trace of whose a thread is
        for key in (thread_id, _LAST):
            value = {"thread_id": thread_id, "started": datetime.now(UTC).isoformat()}
            await self._store.aput(self._namespace, key, value, index=False)
        return thread_id

    async def end(self, thread_id: str) -> None:
        """End a conversation: its outcome is remembered behind the next one."""
        await conclude_soon(self._store, self._user_id, thread_id)

    async def forget(self) -> Receipt:
        """Forget everything about the user (memories, threads and their list, with every agent); return the receipt."""
        checkpointer: Any = self._agent.checkpointer
        erased = await MemoryFacade(self._store, checkpointer=checkpointer).forget_user(self._user_id)
        await asyncio.to_thread(forget_owed, self._user_id)
        return erased.receipt
