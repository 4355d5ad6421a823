"""The floors: a package imports only from those below it, and no top-level package stands outside the contract."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_package_imports_only_from_the_floors_below_it() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_contract_covers_every_package() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = config["tool"]["importlinter"]
    folders = {folder.name for folder in (ROOT / "react_mem").iterdir() if (folder / "__init__.py").is_file()}
    assert contract["root_packages"] == ["react_mem"]
    assert set(contract["contracts"][0]["layers"]) >= {f"react_mem.{folder}" for folder in folders}


def test_every_room_outside_the_memory_has_floors_without_exceptions() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    within = {room: one for one in contracts for room in one.get("containers", ())}
    inits = (file for top in ("graphs", "agents", "tools") for file in (ROOT / top).rglob("__init__.py"))
    rooms = {f"react_mem.{'.'.join(file.parent.relative_to(ROOT).parts)}" for file in inits}
    assert len(rooms) >= 7
    assert rooms <= within.keys()
    assert all(within[room]["exhaustive"] for room in rooms)
    # but the edges where a surface is wired, each into integrations
    edges, *others = (contract.get("ignore_imports", []) for contract in contracts)
    assert not any(others)
    assert all(edge.partition(" -> ")[2].startswith("react_mem.integrations") for edge in edges)


def test_no_module_has_two_names() -> None:
    """The top-level folders are importable by their own names from the project's root, and nothing may do so."""
    script = """
import importlib, pkgutil, sys
import react_mem
for module in pkgutil.walk_packages(react_mem.__path__, "react_mem."):
    if not module.name.endswith(("__main__", "reembed")):
        importlib.import_module(module.name)
files = {}
for name, module in list(sys.modules.items()):
    file = getattr(module, "__file__", None)
    if file and file.startswith(sys.argv[1]) and name != "__main__":
        files.setdefault(__import__("os").path.realpath(file), set()).add(name)
two = {file: names for file, names in files.items() if len(names) > 1 or not min(names).startswith("react_mem")}
print(len(files), two)
"""
    result = subprocess.run(
        [sys.executable, "-c", script, str(ROOT / "react_mem")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    count, _, two = result.stdout.partition(" ")
    assert result.returncode == 0, result.stderr
    assert int(count) > 200
    assert two.strip() == "{}"
