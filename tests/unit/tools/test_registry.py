"""Tools by name: the built-in ones and a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from react_mem.errors import ToolConfigError
from react_mem.tools.registry import BUILT_IN, load_tools

OWN = '''
"""Tools of a user."""
from langchain_core.tools import tool

LIMIT = 3

class Box:
    """Not a tool."""

@tool
def decorated(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"

def search(query: str, top: int = 3) -> str:
    """Search the shelves."""
    return f"{top} about {query}"

async def fetch(page: int) -> str:
    """Fetch a page."""
    return f"page {page}"

def silent(x: int) -> int:
    return x

def calculator(expression: str) -> str:
    """Another calculator."""
    return "42"
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the module name of a user's tools."""
    package = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "shelf.py").write_text(OWN)
    (tmp_path / package / "broken.py").write_text("import module_that_is_not_there\n")
    (tmp_path / package / "crash.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"{package}.shelf"


def refusal(*names: str) -> str:
    with pytest.raises(ToolConfigError) as caught:
        load_tools(names)
    return str(caught.value)


def test_every_built_in_tool_loads_under_its_name() -> None:
    assert [tool.name for tool in load_tools(list(BUILT_IN))] == list(BUILT_IN)
    assert all(tool.description for tool in load_tools(list(BUILT_IN)))


async def test_a_users_own_tools_load_in_every_form(own: str) -> None:
    decorated, search, fetch = load_tools([f"{own}:decorated", f"{own}.search", f"{own}:fetch"])
    assert await decorated.ainvoke({"city": "Hue"}) == "sunny in Hue"
    assert await search.ainvoke({"query": "tea"}) == "3 about tea"
    assert search.description == "Search the shelves."
    assert search.args["top"]["type"] == "integer"
    assert await fetch.ainvoke({"page": 2}) == "page 2"


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    message = refusal("curent_time")
    assert "unknown tool 'curent_time'" in message
    assert "valid: calculator, " in message
    assert message.endswith("; did you mean 'current_time'?")


def test_each_cause_is_told_apart(own: str) -> None:
    package = own.partition(".")[0]
    assert "there is no module 'no_such_pkg'" in refusal("no_such_pkg.tools:search")
    assert f"there is no module '{package}.shlf'" in refusal(f"{package}.shlf:search")
    assert "has no 'serch'; valid: calculator, decorated, fetch, search" in refusal(f"{own}:serch")
    assert "did you mean 'search'?" in refusal(f"{own}:serch")
    broken = refusal(f"{package}.broken:search")
    assert (
        f"importing '{package}.broken' failed: ModuleNotFoundError: No module named 'module_that_is_not_there'"
        in broken
    )
    assert "failed: ZeroDivisionError" in refusal(f"{package}.crash:search")
    assert "is a int, not a LangChain tool or a function" in refusal(f"{own}:LIMIT")
    assert "is a class" in refusal(f"{own}:Box")
    assert "docstring" in refusal(f"{own}:silent")
    for path in ("a..b", ":x", "a:", "a:b:c", "../x.y", "a b.c"):
        assert "is not a dotted path" in refusal(path)


def test_two_tools_of_one_name_are_refused(own: str) -> None:
    assert "are both called 'calculator'" in refusal("calculator", f"{own}:calculator")
    assert "are both called 'calculator'" in refusal("calculator", "calculator")
