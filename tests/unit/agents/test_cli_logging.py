"""The command line leaves the logging of whoever calls it alone."""

from __future__ import annotations

import logging

import pytest

from react_mem.agents.cli import main


def test_the_handlers_that_are_there_keep_their_level(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SystemExit):
        main(["--no-such-option"])
    logging.getLogger("memory.somewhere").warning("a warning")
    assert [record.message for record in caplog.records] == ["a warning"]
