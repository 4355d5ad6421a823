"""Kinds of records are named in the model, where they are declared, and nowhere else in the core.

An integration names them as any stranger does, in the words of the records.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from react_mem.memory.model.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("agents", "graphs", "memory", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ROOT / "memory" / "model" not in path.parents
]
ASKS_FOR_A_KIND = ("kind", "source", "type")


def names(node: ast.AST) -> set[str]:
    """Return the kinds that an expression names, whatever else is in it."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value in KINDS}


def is_kind(node: ast.expr) -> bool:
    """Return whether an expression is the kind of something, such as `item.source` or `value["kind"]`."""
    match node:
        case ast.Name(id=name):
            return name == "kind"
        case ast.Attribute(attr=name):
            return name in ASKS_FOR_A_KIND
        case ast.Subscript(slice=ast.Constant(value="kind")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="kind"), *_]):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name == "kind_of" or (name == "str" and any(map(is_kind, node.args)))
        case _:
            return False


def named_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield where the kind of a record is named by a string, and which."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare() if is_kind(node.left) or any(map(is_kind, node.comparators)):
                found = names(node)
            case ast.Match() if is_kind(node.subject):
                found = {name for case in node.cases for name in names(case.pattern)}
            case ast.Dict():
                values = [v for k, v in zip(node.keys, node.values, strict=True) if is_constant(k, "kind")]
                found = {name for value in values for name in names(value)}
                found |= all_kinds([key for key in node.keys if key is not None])
            case ast.Set(elts=several) | ast.Tuple(elts=several) | ast.List(elts=several):
                found = all_kinds(several)
            case ast.keyword(arg="kind", value=value):
                found = names(value)
            case ast.Call(func=ast.Name(id="record_id"), args=[first, *_]):
                found = names(first)
            case ast.AnnAssign(target=ast.Name(id="kind")):
                found = names(node)
            case _:
                continue
        yield from ((node.value.lineno if isinstance(node, ast.keyword) else node.lineno, name) for name in found)


def is_constant(node: ast.expr | None, value: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def all_kinds(nodes: list[ast.expr]) -> set[str]:
    """Return the kinds that a collection has, if it has several and nothing else."""
    told = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return told if len(told) > 1 and told <= KINDS.keys() else set()


def test_no_file_outside_the_model_names_a_kind_by_a_string() -> None:
    assert len(SOURCES) > 200
    found = {
        str(path.relative_to(ROOT)): named for path in SOURCES if (named := [*named_in(ast.parse(path.read_bytes()))])
    }
    assert found == {}


@pytest.mark.parametrize(
    "code",
    [
        'value["kind"] == "fact"',
        'item.value.get("kind") != "message"',
        'kind in ("fact", "summary")',
        'item.source == "chain"',
        'str(value.get("kind")) == "task"',
        'filter={"kind": "summary"}',
        'search(kind="document")',
        'frozenset({"profile", "state"})',
        '{"episode": ("goal",), "summary": ("text",)}',
        'record_id("concept", name)',
        'class Note:\n    kind: Literal["fact"] = "fact"',
        'match kind_of(item):\n    case "message" | "fact":\n        pass',
    ],
)
def test_a_string_that_names_a_kind_is_noticed(code: str) -> None:
    assert list(named_in(ast.parse(code)))


@pytest.mark.parametrize("code", ['event["message"]', 'telemetry.count("summary")', 'status == "pending"'])
def test_the_same_word_for_something_else_is_none(code: str) -> None:
    assert not list(named_in(ast.parse(code)))
