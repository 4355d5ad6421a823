"""Start-up: a package that something else shadows is refused, and the message names what and where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from react_mem_start import PACKAGES

ROOT = Path(__file__).resolve().parents[2]


def start(command: list[str], *, cwd: Path, first_on_path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python where our packages come after `first_on_path`."""
    path = os.pathsep.join(str(folder) for folder in (first_on_path, ROOT) if folder)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


CHECK = ["-c", "import react_mem_start; react_mem_start.check_packages(); print('ours')"]


def test_our_own_packages_pass_from_any_folder(tmp_path: Path) -> None:
    result = start(CHECK, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "ours\n"), result.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_foreign_package_is_named_with_its_path(package: str, tmp_path: Path) -> None:
    foreign = tmp_path / package / "__init__.py"
    foreign.parent.mkdir()
    foreign.write_text("raise SystemExit('the foreign package was run')")
    result = start(CHECK, cwd=tmp_path, first_on_path=tmp_path)
    assert result.returncode == 1
    assert f"ShadowedPackageError: '{package}' would be imported from {foreign}" in result.stderr
    assert str(ROOT / package) in result.stderr
    assert f"take {tmp_path} off PYTHONPATH" in result.stderr


def test_a_foreign_module_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "tools.py").touch()
    result = start(CHECK, cwd=tmp_path, first_on_path=tmp_path)
    assert f"'tools' would be imported from {tmp_path / 'tools.py'}" in result.stderr


def test_a_foreign_distribution_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").touch()
    metadata = tmp_path / "other_agents-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other-agents\nVersion: 1.0\n")
    (metadata / "RECORD").write_text("agents/__init__.py,,\n")
    result = start(CHECK, cwd=tmp_path, first_on_path=tmp_path)
    assert "uninstall 'other-agents'" in result.stderr


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    """It can, because it starts outside the five packages: here the foreign one is where the command itself lives."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").touch()
    command = ["-c", "import react_mem_start; react_mem_start.main()"]
    result = start(command, cwd=tmp_path, first_on_path=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith("react-mem: 'agents' would be imported from ")
    assert len(result.stderr.splitlines()) == 1
