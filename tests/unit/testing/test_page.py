"""docs/testing_your_agent.md, followed in a folder of its own: its files are tests that pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import BLOCKS, take

PAGE = [block for block in BLOCKS if block.page == "docs/testing_your_agent.md"]
SETTINGS = "pytest.ini"


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, with nothing of this project's settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page tells to write."""
    assert [take(block, tmp_path) for block in PAGE].count(True) == 3
    return tmp_path


def test_the_page_can_be_followed(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_without_its_settings_pytest_says_what_the_page_says(folder: Path) -> None:
    (folder / SETTINGS).write_text("[pytest]\n", encoding="utf-8")
    done = run(folder)
    assert done.returncode != 0
    assert "async def functions are not natively supported" in done.stdout
