"""Input line of a terminal: several lines at once, history, completion of commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


class InputLine:
    """The line that the user types on. A paste is one message, line breaks included; Enter sends it."""

    def __init__(self, commands: Sequence[str], *, coloured: bool) -> None:
        self._style = "bold ansiblue" if coloured else ""
        # in memory only: what is forgotten must not stay in a file of its own
        self._history = InMemoryHistory()
        self._messages: PromptSession[str] = PromptSession(
            history=self._history,
            # by Tab only: a completion that runs while one types swallows the Tab
            completer=_Commands(commands),
            complete_while_typing=False,
            reserve_space_for_menu=0,
            multiline=True,
            key_bindings=_keys(),
            enable_open_in_editor=False,
        )

    async def read(self, label: str) -> str:
        """Return a message, typed behind a label.

        Raises `EOFError` for Ctrl-D and `KeyboardInterrupt` for Ctrl-C.
        """
        indent = " " * len(label)
        return await self._messages.prompt_async(
            FormattedText([(self._style, label)]), prompt_continuation=lambda width, number, wrapped: indent
        )

    async def ask(self, question: str) -> str:
        """Return the answer to a question, outside of the history. Raises as `read` does."""
        asking: PromptSession[str] = PromptSession(history=InMemoryHistory())
        return await asking.prompt_async(FormattedText([(self._style, question)]))

    def remember(self, said: Iterable[str]) -> None:
        """Put earlier messages into the history, the oldest first."""
        for text in said:
            self._history.append_string(text)

    def forget(self) -> None:
        """Empty the history."""
        self._history = InMemoryHistory()
        self._messages.history = self._messages.default_buffer.history = self._history
        self._messages.default_buffer.reset()


class _Commands(Completer):
    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text
        if typed.startswith("/") and " " not in typed:
            for command in self._commands:
                if command.startswith(typed) and command != typed:
                    yield Completion(command, start_position=-len(typed))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def break_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
