"""The clients as packages: what they are called, what is in them, and that they come with the project."""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from setuptools import find_namespace_packages

from tests.support.installing import ROOT

PYTHON, TYPESCRIPT = ROOT / "clients/python", ROOT / "clients/typescript"

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

SOURCES = {path.name for path in (PYTHON / "react_mem_client").iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the Python client, built from a copy."""
    folder = tmp_path_factory.mktemp("client")
    source = folder / "source"
    shutil.copytree(PYTHON, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder]
    done = subprocess.run([*build, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_client_with_its_types_and_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {Path(name).name for name in names if name.startswith("react_mem_client/")} == SOURCES
    assert "py.typed" in SOURCES
    info = f"react_mem_client-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in names} == {"react_mem_client", info}
    told = email.message_from_bytes(zipfile.ZipFile(wheel).read(f"{info}/METADATA"))
    assert (told["Name"], told["Version"], told["License-Expression"]) == ("react-mem-client", VERSION, "Apache-2.0")
    assert {Requirement(line).name for line in told.get_all("Requires-Dist", [])} == {"httpx", "pydantic"}
    assert f"{info}/licenses/LICENSE" in names
    assert "MemoryClient(" in str(told.get_payload())


def test_the_client_runs_without_the_project(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    script = "import sys, react_mem_client as it; print(it.__file__, *{n.partition('.')[0] for n in sys.modules})"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    where, *loaded = done.stdout.split()
    assert where.startswith(str(tmp_path))
    assert not {"react_mem", "langchain", "langgraph", "fastapi"} & set(loaded)


def test_the_projects_own_package_holds_no_client() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    packages = find_namespace_packages(str(ROOT), include=tool["setuptools"]["packages"]["find"]["include"])
    assert "react_mem.memory" in packages
    assert [name for name in packages if name.partition(".")[0] != "react_mem"] == []


def described() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((TYPESCRIPT / "package.json").read_text(encoding="utf-8"))
    return read


def test_the_typescript_package_needs_nothing_at_run_time() -> None:
    package = described()
    assert (package["name"], package["version"], package["license"]) == ("react-mem-client", VERSION, "Apache-2.0")
    assert not package.keys() & {"dependencies", "peerDependencies", "optionalDependencies", "private"}
    lock = (TYPESCRIPT / "package-lock.json").read_text(encoding="utf-8")
    assert json.loads(lock)["version"] == VERSION
    assert '"resolved"' not in lock
    assert "://" not in lock


@pytest.mark.skipif(shutil.which("npm") is None, reason="what is in the package is told by npm (`npm`)")
def test_the_typescript_package_holds_its_modules_types_and_licence(tmp_path: Path) -> None:
    shutil.copytree(TYPESCRIPT, tmp_path / "package", ignore=shutil.ignore_patterns("node_modules"))
    done = subprocess.run(
        ["npm", "pack", "--dry-run", "--json", "--offline", f"--cache={tmp_path / 'cache'}"],
        cwd=tmp_path / "package",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [packed] = json.loads(done.stdout)
    files = {one["path"] for one in packed["files"]}
    sources = {f"src/{path.name}" for path in (TYPESCRIPT / "src").iterdir()}
    assert files == {"LICENSE", "README.md", "package.json", *sources}
    entry = described()["exports"]["."]
    assert {entry["types"], entry["default"]} <= {f"./{path}" for path in files}
    # each module has its declarations, which is what a program's compiler reads
    modules = {path.removesuffix(".js") for path in sources if path.endswith(".js")}
    assert modules == {path.removesuffix(".d.ts") for path in sources if path.endswith(".d.ts")}
