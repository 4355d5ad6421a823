"""Folders of embedded databases."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.support.embedded import embedded_database


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose cluster is built: that takes longer than everything else."""
    folder = tmp_path_factory.mktemp("built")

    async def build() -> None:
        async with embedded_database(folder):
            pass

    asyncio.run(build())
    return folder


@pytest.fixture
def data_dir(built: Path, tmp_path: Path) -> Path:
    """A data folder of a test's own, with a cluster."""
    subprocess.run(["cp", "-a", f"{built}/.", tmp_path], check=True)
    return tmp_path
