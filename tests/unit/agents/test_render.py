"""What a turn looks like: one column of text, everything once, nothing that moves the cursor."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from react_mem.agents.terminal.output import Column, one_line
from react_mem.agents.terminal.render import TurnView

DUMB = {"TERM": "dumb"}
"""A terminal without a spinner, whose frames depend on time."""


def screen(*, terminal: bool, width: int = 80) -> tuple[Console, io.StringIO]:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=width, height=25, color_system=None, _environ=DUMB)
    return console, output


def drawn(text: str, places: list[int] | None, *, terminal: bool, width: int = 40, indent: int = 8) -> list[str]:
    """Return the lines of a column, which is given a text whole, or cut at places."""
    console, output = screen(terminal=terminal, width=width)
    column = Column(console, indent)
    if places is None:
        column.whole(text)
    else:
        marks = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
        for start, end in pairwise(marks):
            column.write(text[start:end])
        column.close()
    return output.getvalue().removesuffix("\n").split("\n")


WORDS = st.lists(
    st.sampled_from(["a", "trời", "nắng", "\n", "\n\n", " ", "  ", "日本語", "🙂", "x" * 35, "word"]), max_size=25
)
TEXTS = WORDS.map("".join) | WORDS.map(" ".join) | st.text(max_size=80)


@settings(max_examples=40)
@given(TEXTS, st.lists(st.integers(0, 300), max_size=20))
@example("a" * 33 + "b" * 60 + " c", list(range(100)))
def test_a_column_looks_the_same_however_it_is_streamed(text: str, places: list[int]) -> None:
    assert drawn(text, places, terminal=False) == drawn(text, None, terminal=False)


def test_nothing_that_is_said_moves_the_cursor_or_breaks_the_output() -> None:
    [line] = drawn("a\x1b[2Jb\x07\x00c\rd\x9b1m\ud83de\tf", None, terminal=True)
    assert line == "a[2Jbcd1me    f"
    assert one_line("a\x1b[2J\nb", 40) == "a[2J b"


def item(scope: str, text: str, score: float | None) -> dict[str, Any]:
    return {"scope": scope, "id": text, "text": text, "score": score}


RETRIEVED = {
    "type": "memory",
    "operation": "retrieve",
    "status": "ok",
    "message": "",
    "items": [
        item("profile", "name: Lan", None),
        item("semantic", "User likes tea", 0.5),
        item("semantic", "User likes a very long walk " + "along the river " * 10, 0.9),
        item("dialog", "Hello\nthere", 0.7),
        item("episodic", "Brewed tea", 0.6),
    ],
}
STORED = {**RETRIEVED, "operation": "extract", "items": [], "stored": ["User lives in Huế"], "retired": ["in Vinh"]}


def test_every_step_is_drawn_in_one_column() -> None:
    console, output = screen(terminal=True)
    view = TurnView(console, verbose=True)
    view.user("Where do I live? " * 6)
    for event in [
        RETRIEVED,
        {"type": "thought", "text": "let me look"},
        {"type": "action", "id": "1", "name": "lookup", "args": {"what": "home"}},
        {"type": "observation", "id": "1", "name": "lookup", "content": "in [bold]Huế[/]", "error": False},
        {"type": "observation", "id": "2", "name": "lookup", "content": "no", "error": True},
        {"type": "answer", "text": "In Huế.\nAs you said."},
        STORED,
    ]:
        view.event(event)
    view.close()
    assert output.getvalue() == (
        "you            Where do I live? Where do I live? Where do I live? Where do I\n"
        "               live? Where do I live? Where do I live?\n"
        "  retrieved    (fact) User likes a very long walk along the river along the riv…\n"
        "               (said) Hello there\n"
        "               (episode) Brewed tea\n"
        "               and 2 more\n"
        "  thought      let me look\n"
        "  action       lookup(what='home')\n"
        "  observation  in [bold]Huế[/]\n"
        "  error        no\n"
        "agent          In Huế.\n"
        "               As you said.\n"
        "  stored       User lives in Huế\n"
        "  retired      in Vinh\n"
    )


def chat(*parts: tuple[str, str] | dict[str, Any]) -> str:
    console, output = screen(terminal=True)
    view = TurnView(console, verbose=False)
    for part in parts:
        if isinstance(part, dict):
            view.event(part)
        else:
            view.token(part[1], part[0])
    view.close()
    return output.getvalue()


def answer(text: str) -> dict[str, Any]:
    return {"type": "answer", "text": text}


ACTION = {"type": "action", "id": "1", "name": "lookup", "args": {}}
THOUGHT = {"type": "thought", "text": "let me look"}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("1", "\n It is"), ("1", " sunny.\n"), answer("It is sunny.")], "agent   It is sunny.\n"),
        ([answer("It is sunny.")], "agent   It is sunny.\n"),
        (
            [("1", "let me "), ("1", "look"), THOUGHT, ACTION, ("2", "Sunny."), answer("Sunny.")],
            "agent   let me look\nagent   Sunny.\n",
        ),
        ([THOUGHT, ACTION, ("2", "Sunny."), answer("Sunny.")], "agent   Sunny.\n"),
        ([("1", "let me"), answer("I stopped.")], "agent   let me\nagent   I stopped.\n"),
        ([("1", "Sun"), ("1", "ny")], "agent   Sunny\n"),
        ([RETRIEVED, answer("Sunny."), STORED], "agent   Sunny.\n"),
        ([("1", " "), ("1", "\n")], ""),
    ],
    ids=["streamed", "whole", "thought-streamed", "thought-hidden", "replaced", "cut-off", "memory-works", "blank"],
)  # fmt: skip
def test_a_chat_shows_every_text_once(parts: list[Any], expected: str) -> None:
    assert chat(*parts) == expected


SUGGESTION = {"type": "suggestion", "tool": "pay_bill", "text": "Pay a bill.", "after": "find_bill", "times": 2}
SWITCH = {
    "type": "switch",
    "status": "ok",
    "message": "",
    "tools": ["find_bill", "pay_bill"],
    "layers": [],
    "snapshot": False,
    "by": "semantic",
}


def test_memory_that_fails_is_told_in_a_chat_too() -> None:
    degraded = {**RETRIEVED, "status": "degraded", "items": [], "message": "Memory could not be reached"}
    assert chat(degraded, answer("Sunny.")) == "memory  Memory could not be reached\nagent   Sunny.\n"


def test_next_steps_stand_below_the_answer() -> None:
    assert chat(SWITCH, SUGGESTION, answer("Here.")) == "agent   Here.\nnext    Pay a bill. (pay_bill)\n"
