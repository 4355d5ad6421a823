"""The terminal itself: where to draw, and what is said about where things run."""

from __future__ import annotations

import io
import os
import sys

from rich.console import Console
from rich.text import Text

from react_mem.agents.config import AgentConfig
from react_mem.agents.models import EXTRACTIVE, resolve_chat_spec
from react_mem.agents.terminal.column import Column, printable
from react_mem.memory import StorageSettings
from react_mem.memory.records import place_of

_HEAD_COLUMN = 8  # of "memory  "


class Terminal(Console):
    """A console whose reader may leave: what is printed after that goes nowhere, and `abandoned` says so."""

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout):
            if isinstance(stream, io.TextIOWrapper):
                # what cannot be read or shown is marked as such and does not end the conversation
                stream.reconfigure(errors="replace")
        super().__init__(highlight=False)
        self.abandoned = False

    def on_broken_pipe(self) -> None:
        """Go on in silence, so that whoever prints can finish and close what is open."""
        self.abandoned = self.quiet = True
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)

    def failure(self, error: Exception) -> None:
        """Draw an error as one red line."""
        message = " ".join(printable(str(error)).split())
        if not message or type(error).__module__ == "builtins":
            # nobody wrote this for a user: "'id'" alone says nothing
            message = f"{type(error).__name__}: {message}"
        self.print(Text(message, style="red"), soft_wrap=True)

    def labelled(self, label: str, text: str) -> None:
        """Draw a line of the head of a conversation."""
        self.print(Text(label.ljust(_HEAD_COLUMN), style="dim"), end="")
        Column(self, _HEAD_COLUMN, "dim").whole(text)

    def whereabouts(self, config: AgentConfig, memory: StorageSettings | str) -> None:
        """Draw what runs and where it remembers.

        Args:
            config: The agent.
            memory: The storage; words for it where there is none.
        """
        model = resolve_chat_spec(config.models.chat)
        if model == EXTRACTIVE:
            model = "extractive, built in: quotes what it remembers; set OPENAI_API_KEY for a language model"
        self.labelled("agent", f"{config.name} ({config.manager})")
        self.labelled("model", model)
        self.labelled("memory", memory if isinstance(memory, str) else place_in_words(memory))


def place_in_words(settings: StorageSettings) -> str:
    """Return where memories are: which database, or which folder."""
    if settings.database_url is None:
        return f"{settings.embedded_folder()} (embedded PostgreSQL)"
    return f"PostgreSQL at {place_of(settings.database_url.get_secret_value())}"
