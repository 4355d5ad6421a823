"""A turn's events, drawn with rich."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text


class TurnView:
    """Draws one turn while it runs.

    Args:
        console: Where to draw.
        verbose: Show what was retrieved, thought, done and stored, not the answer alone.
    """

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._streamed = ""

    def token(self, text: str) -> None:
        """Draw a piece of the answer as it is written."""
        if not self._streamed:
            text = text.lstrip()
            if not text:
                return
            self._console.print("[bold green]agent[/] ", end="")
        self._streamed += text
        self._console.print(Text(text), end="", soft_wrap=True)

    def event(self, event: dict[str, Any]) -> None:
        """Draw one event of the custom stream (see `graphs.events`)."""
        kind = event.get("type")
        if kind == "answer":
            self._answer(str(event["text"]))
        elif kind == "memory":
            self._memory(event)
        elif self._verbose and kind == "thought":
            self._end_of_line()
            self._row("thought", str(event["text"]))
        elif self._verbose and kind == "action":
            arguments = ", ".join(f"{name}={value!r}" for name, value in event["args"].items())
            self._end_of_line()
            self._row("action", f"{event['name']}({arguments})")
        elif self._verbose and kind == "observation":
            self._row("error" if event["error"] else "observation", str(event["content"])[:500])

    def _answer(self, text: str) -> None:
        if self._streamed.strip() and text.strip().endswith(self._streamed.strip()[-40:]):
            self._end_of_line()
            return
        # a thought was streamed before, or nothing at all
        self._end_of_line()
        self._console.print(f"[bold green]agent[/] {escape(text)}", soft_wrap=True)

    def _memory(self, event: dict[str, Any]) -> None:
        self._end_of_line()
        if event["status"] != "ok":
            self._row("memory", event["message"], style="yellow")
        if not self._verbose:
            return
        for item in event.get("items", []):
            self._row("retrieved", f"[{item['scope']}] {str(item['text'])[:200]}")
        for text in event.get("stored", []):
            self._row("stored", text[:200])
        for text in event.get("retired", []):
            self._row("retired", text[:200])

    def _row(self, label: str, text: str, style: str = "dim") -> None:
        self._console.print(f"  [{style}]{label:>11}[/]  ", Text(text), sep="", soft_wrap=True)

    def _end_of_line(self) -> None:
        if self._streamed:
            self._console.print()
            self._streamed = ""
