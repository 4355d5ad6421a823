"""The names of the product: one idea has one name, and a name stands for one idea."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _modules() -> Iterator[Path]:
    for package in ("agents", "graphs", "memory", "prompts", "tools"):
        yield from (ROOT / package).rglob("*.py")
    yield from (ROOT / "react_mem").glob("*.py")


def test_no_two_classes_have_one_name() -> None:
    defined: defaultdict[str, list[str]] = defaultdict(list)
    for module in _modules():
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                defined[node.name.lstrip("_")].append(f"{module.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


def test_no_two_files_have_one_name() -> None:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module in _modules():
        if module.name != "__init__.py":
            found[module.name].append(str(module.relative_to(ROOT)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
