"""Table of results: a row for each check, a column for each store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from langgraph_store_conformance.suite import StoreConformance, check_names

Results = Mapping[str, Mapping[str, "Outcome"]]
"""By the heading of a store, and the name of a check."""


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "✓"
    FAILED = "✗"
    NOT_CHECKED = "–"


def words_of(check: str) -> str:
    """Return a check's name as words.

    >>> words_of("test_put_then_get")
    'put then get'
    """
    return check.removeprefix("test_").replace("_", " ")


def as_text(results: Results) -> str:
    """Return the table for a terminal: stores are numbered, and named below it."""
    width = max(len(words_of(check)) for check in check_names())
    lines = []
    shown = ""
    for area, check, outcomes in _rows(results):
        if area != shown:
            lines += ["", area]
            shown = area
        lines.append(f"  {words_of(check):{width}}  {'  '.join(outcomes)}".rstrip())
    numbers = "  ".join(str(number) for number in range(1, len(results) + 1))
    legend = [f"{number}  {heading}: {_counts(results[heading])}" for number, heading in enumerate(results, start=1)]
    return "\n".join([f"{'':{width + 4}}{numbers}", *lines[1:], "", *legend])


def as_markdown(results: Results) -> str:
    """Return the table in Markdown."""
    lines = [
        f"| | Check | {' | '.join(results)} |",
        f"| --- | --- |{' :-: |' * len(results)}",
    ]
    shown = ""
    for area, check, outcomes in _rows(results):
        lines.append(f"| {'' if area == shown else f'**{area}**'} | {words_of(check)} | {' | '.join(outcomes)} |")
        shown = area
    counted = " | ".join(_counts(outcomes) for outcomes in results.values())
    return "\n".join([*lines, f"| **All** | | {counted} |"]) + "\n"


def as_declared(*suites: type[StoreConformance]) -> Results:
    """Return the results that a run has if nothing fails that is not declared to.

    Args:
        suites: The classes of the stores.
    """
    return {suite.heading(): {check: Outcome(suite.declared(check)) for check in check_names()} for suite in suites}


def _rows(results: Results) -> Iterator[tuple[str, str, list[str]]]:
    for check, area in check_names().items():
        outcomes = [each.get(check, Outcome.NOT_CHECKED) for each in results.values()]
        if any(outcome is not Outcome.NOT_CHECKED for outcome in outcomes):
            yield area, check, [outcome.value for outcome in outcomes]


def _counts(outcomes: Mapping[str, Outcome]) -> str:
    told = list(outcomes.values())
    return f"{told.count(Outcome.PASSED)} of {len(told) - told.count(Outcome.NOT_CHECKED)}"
