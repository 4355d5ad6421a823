"""Pytest plugin: `--store-conformance-table` prints the results of every store as one table."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

_PROPERTY = "store conformance"
_OPTION = "store_conformance_table"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option.

    Args:
        parser: Of the command line.
    """
    group = parser.getgroup("langgraph-store-conformance")
    group.addoption(
        "--store-conformance-table",
        dest=_OPTION,
        choices=("text", "markdown"),
        help="print what each LangGraph store passes, as a table",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect results where a table is asked for.

    Args:
        config: The options of the run.
    """
    if config.getoption(_OPTION):
        config.pluginmanager.register(ResultsTable(config.getoption(_OPTION)), "store conformance table")


class ResultsTable:
    """Collects the results of a run, those of other processes too, and prints them at its end.

    Args:
        form: `text` or `markdown`.
    """

    def __init__(self, form: str) -> None:
        self._form = form
        self.results: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        from langgraph_store_conformance.suite import StoreConformance

        report = yield
        suite = getattr(item, "cls", None)
        if isinstance(suite, type) and issubclass(suite, StoreConformance):
            report.user_properties.append((_PROPERTY, (suite.heading(), item.name)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        from langgraph_store_conformance.results import Outcome

        for name, value in report.user_properties:
            if name == _PROPERTY and isinstance(value, (tuple, list)):
                heading, check = value
                results = self.results.setdefault(heading, {})
                known_failure = hasattr(report, "wasxfail") and report.outcome == "skipped"
                if report.outcome == "failed" or known_failure:
                    results[check] = Outcome.FAILED
                elif report.outcome == "skipped":
                    results[check] = Outcome.NOT_CHECKED
                elif report.when == "call":
                    results.setdefault(check, Outcome.PASSED)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from langgraph_store_conformance.results import as_markdown, as_text

        if self.results:
            terminalreporter.section("LangGraph stores: ✓ passes, ✗ fails, – not checked")
            terminalreporter.write_line((as_text if self._form == "text" else as_markdown)(self.results))
