"""What is typed wrong at the command line is answered with what would have been right."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Sequence
from datetime import datetime, time

import pytest

from react_mem.agents.terminal.arguments import command_line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["memory", "list", "--scope", "semntic"],
            "there is no scope 'semntic'; valid: dialog, episodic, experience, files, procedural, profile, semantic, "
            "state; did you mean 'semantic'?",
        ),
        (["audit", "--since", "gestern"], "a time is an ISO 8601 date or time, such as 2026-03-03 or 2026-03-03T20:00"),
        (["memory", "search", "x", "--as-of", "2026-13-01"], "a time is an ISO 8601 date or time"),
    ],
)
def test_the_valid_values_are_named(arguments: Sequence[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(arguments)
    assert told in capsys.readouterr().err


def test_a_day_begins_a_log_and_ends_what_was_believed() -> None:
    since: datetime = command_line().parse_args(["audit", "--since", "2026-01-31"]).since
    as_of: datetime = command_line().parse_args(["memory", "search", "x", "--as-of", "2026-01-31"]).as_of
    assert (since.time(), as_of.time()) == (time.min, time.max)
    assert since.tzinfo is not None


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _parsers(below)


def test_every_command_has_a_function() -> None:
    places = {run for parser in _parsers(command_line()) if (run := parser.get_default("run"))}
    for module, _, name in (place.partition(":") for place in places):
        assert callable(getattr(importlib.import_module(module), name))
    assert len(places) == 18
