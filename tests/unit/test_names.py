"""The names of the product: one idea has one name, and a name stands for one idea."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _modules() -> Iterator[Path]:
    for package in ("agents", "graphs", "integrations", "memory", "prompts", "tools"):
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


_RIDDLE = re.compile(r"(?:What|Whether|How|Which|Whose|Whom?|Where|When|Why|That|If)\b")


def test_a_docstring_opens_with_a_noun_or_a_verb() -> None:
    found = [
        f"{module.relative_to(ROOT)}:{node.lineno}: {node.value.value.strip()[:60]}"
        for module in [*_modules(), *(ROOT / "benchmarks").rglob("*.py")]
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if _RIDDLE.match(node.value.value.strip())
    ]
    assert found == []
