"""Tables of conformance/README.md, made from a run: `python -m tests.support.conformance_tables` writes them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "conformance" / "README.md"

sys.path.insert(0, str(ROOT / "conformance"))  # as pytest has it, by pyproject.toml

import pytest  # noqa: E402
from langgraph_store_conformance import StoreConformance  # noqa: E402
from langgraph_store_conformance.pytest_table import ResultsTable  # noqa: E402
from langgraph_store_conformance.results import Results, as_markdown, words_of  # noqa: E402


def reasons(suites: tuple[type[StoreConformance], ...]) -> str:
    """Return the known failures of stores as a Markdown table: each check, and why it fails."""
    lines = ["| Store | Check | Why it fails |", "| --- | --- | --- |"]
    for suite in suites:
        for check, reason in suite.expected_failures.items():
            lines.append(f"| {suite.heading()} | {words_of(check)} | {reason} |")
    return "\n".join(lines) + "\n"


def with_tables(page: str, results: Results, suites: tuple[type[StoreConformance], ...]) -> str:
    """Return the page with its two tables written anew."""
    for start, table in (("| | Check |", as_markdown(results)), ("| Store | Check |", reasons(suites))):
        page = re.sub(rf"^{re.escape(start)}.*\n(?:\|.*\n)+", lambda _, table=table: table, page, flags=re.MULTILINE)
    return page


if __name__ == "__main__":
    ran = ResultsTable("markdown")
    if pytest.main(["-q", "-p", "no:cacheprovider", "tests/integration/conformance/test_stores.py"], plugins=[ran]):
        sys.exit("a store does not do what is declared of it")
    from tests.integration.conformance.test_stores import SUITES

    ordered = {suite.heading(): ran.results[suite.heading()] for suite in SUITES}
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), ordered, SUITES), encoding="utf-8")
