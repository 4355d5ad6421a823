"""The floors: a package imports only from those below it, and no top-level package stands outside the contract."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from react_mem_start import PACKAGES

ROOT = Path(__file__).resolve().parents[2]


def test_every_package_imports_only_from_the_floors_below_it() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_contract_covers_every_package() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = config["tool"]["importlinter"]
    assert set(contract["root_packages"]) == set(PACKAGES)
    assert set(contract["contracts"][0]["layers"]) == set(PACKAGES)
