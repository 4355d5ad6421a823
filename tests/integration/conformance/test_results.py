"""The conformance package itself: its table in the docs, its command, its plugin, and its wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from langgraph_store_conformance import Capability, StoreConformance
from langgraph_store_conformance.results import as_declared
from langgraph_store_conformance.suite import check_names

from tests.integration.conformance.test_stores import SUITES
from tests.support.conformance_tables import PAGE, with_tables

PACKAGE = Path(__file__).resolve().parents[3] / "conformance"

OWN_STORE = """
import pytest_asyncio
from langgraph.store.memory import InMemoryStore
from langgraph_store_conformance import EVERYTHING, Capability, StoreConformance


class Forgetful(InMemoryStore):
    async def abatch(self, ops):
        return await super().abatch([op for op in ops if getattr(op, "key", "") != "tea"])


class TestForgetful(StoreConformance):
    capabilities = EVERYTHING - set(Capability)
    expected_failures = {"test_an_empty_batch": "quagga-4711"}

    @pytest_asyncio.fixture
    async def store(self):
        return Forgetful()
"""


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_the_tables_of_the_docs_are_those_of_a_run() -> None:
    # What is declared is what a run has: a failure that is not declared fails there, and so does one that is mended.
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page, as_declared(*SUITES), SUITES), "python -m tests.support.conformance_tables"


def test_every_check_is_of_one_area_and_of_the_suite_and_every_claim_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [each.name for each in Capability if f"`Capability.{each.name}`" not in page] == []
    assert set(check_names()) == {name for name in dir(StoreConformance) if name.startswith("test_")}


def test_a_known_failure_that_names_no_check_is_refused() -> None:
    with pytest.raises(TypeError, match="names no check: test_nothing"):
        type("TestOther", (StoreConformance,), {"expected_failures": {"test_nothing": "x"}})


def test_a_store_that_loses_what_is_put_is_found_out_and_shown(tmp_path: Path) -> None:
    """As a project of one's own has it: in strict mode, with a store a check, and with a plugin that is named."""
    (tmp_path / "test_own.py").write_text(OWN_STORE)
    plugin = ("-p", "langgraph_store_conformance.pytest_table", "--store-conformance-table", "text")
    chosen = "put_then_get or empty_batch or strings or ranks_by"
    done = run("pytest", "-q", *plugin, "-k", chosen, "-p", "no:cacheprovider", folder=tmp_path)
    assert done.returncode == 1
    rows = {
        line.strip().rpartition("  ")[0].strip(): line.strip()[-1] for line in done.stdout.splitlines() if line.strip()
    }
    assert (rows["put then get"], rows["strings"], rows["an empty batch"]) == ("✗", "✓", "✗")
    assert "a query ranks by likeness" not in rows, "no store was checked for it"
    assert "[XPASS(strict)] quagga-4711" in done.stdout


def test_the_command_checks_what_a_factory_opens(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from contextlib import asynccontextmanager\n"
        "from langgraph.store.memory import InMemoryStore\n"
        "from langgraph_store_conformance import word_index\n\n"
        "async def five():\n    return 5\n\n"
        "@asynccontextmanager\nasync def open_store():\n    yield InMemoryStore(index=word_index())\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    done = run("langgraph_store_conformance", "mine:open_store", "--without", "ttl", folder=tmp_path)
    failing = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert done.returncode == 1, done.stderr
    assert len(failing) == len(SUITES[0].expected_failures)
    assert "1  mine:open_store: " in done.stdout
    # what is compared is shown
    assert "AssertionError: assert " in done.stdout
    assert "PytestAssertRewriteWarning" not in done.stdout + done.stderr
    for factory, problem in (
        ("nothing", "There is no mine:nothing"),
        ("five", "mine:five opens no store: TypeError: mine:five gives no BaseStore but int\n"),
    ):
        wrong = run("langgraph_store_conformance", f"mine:{factory}", folder=tmp_path)
        assert (wrong.returncode, problem in wrong.stderr) == (2, True)


def test_the_wheel_holds_the_checks_the_command_and_the_plugin(tmp_path: Path) -> None:
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    copied = tmp_path / "source"
    copied.mkdir()
    for file in PACKAGE.rglob("*"):
        if file.is_file() and file.suffix in {".py", ".toml", ".md", ".typed"} and "build" not in file.parts:
            (copied / file.relative_to(PACKAGE)).parent.mkdir(parents=True, exist_ok=True)
            (copied / file.relative_to(PACKAGE)).write_bytes(file.read_bytes())
    done = subprocess.run([sys.executable, "-c", build, tmp_path], cwd=copied, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("langgraph_store_conformance-0.1.0-*.whl")
    archive = zipfile.ZipFile(wheel)
    names = set(archive.namelist())
    modules = {str(file.relative_to(PACKAGE)) for file in (PACKAGE / "langgraph_store_conformance").rglob("*.py")}
    assert {*modules, "langgraph_store_conformance/py.typed"} <= names
    [points] = [name for name in names if name.endswith("entry_points.txt")]
    told = archive.read(points).decode()
    assert "langgraph_store_conformance.command:main" in told
    assert "[pytest11]\nlanggraph_store_conformance.pytest_table = langgraph_store_conformance.pytest_table" in told
