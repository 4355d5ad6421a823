"""What is known of a tool, and what a config may say of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime

from react_mem.agents.config import load_agent_config_file
from react_mem.errors import AgentConfigError, ToolConfigError
from react_mem.tools.routing.routes import Route, SwitchSettings, tool_routes


def news(query: str, runtime: ToolRuntime[Any, Any]) -> str:
    """Read the news."""
    return query


def agenda(day: str = "today") -> str:
    """Show the agenda.

    Args:
        day: Which day.
    """
    return day


def transfer(to: str, amount: int) -> str:
    """Send money."""
    return f"{to} {amount}"


def tool_of(function: Any, **metadata: Any) -> BaseTool:
    return StructuredTool.from_function(function, metadata=metadata or None, parse_docstring=True)


def route(tool: BaseTool, **settings: Any) -> Route:
    [found] = tool_routes([tool], SwitchSettings.model_validate(settings))
    return found


def test_only_what_is_marked_and_needs_nothing_or_a_query_runs_ahead() -> None:
    assert route(tool_of(agenda)).ahead is None
    assert route(tool_of(agenda, prefetch=True)).ahead == ""
    assert route(tool_of(news, prefetch=True)).ahead == "query"
    assert route(tool_of(agenda, prefetch=True), routes={"agenda": {"prefetch": False}}).ahead is None


def test_a_mark_on_a_tool_that_needs_more_is_refused() -> None:
    with pytest.raises(ToolConfigError, match=r"'transfer' is marked prefetch, but needs to, amount.*remove the mark"):
        route(tool_of(transfer, prefetch=True))


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"always": ["agendo"]}, "switching.always"),
        ({"routes": {"agendo": {}}}, "switching.routes"),
        ({"routes": {"agenda": {"after": ["agendo"]}}}, "switching.routes.agenda"),
    ],
)
def test_a_name_that_no_tool_has_is_named_with_the_nearest(settings: dict[str, Any], key: str) -> None:
    with pytest.raises(ToolConfigError, match=f"{key}: there is no tool 'agendo'.*did you mean 'agenda'"):
        route(tool_of(agenda), **settings)


@pytest.mark.parametrize(
    ("yaml", "mode"), [("off", "off"), ("semantic", "semantic"), ("{mode: model, max_tools: 4}", "model")]
)
def test_a_config_says_it_in_a_word_or_in_full(tmp_path: Any, yaml: str, mode: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"manager: react\nswitching: {yaml}\n", encoding="utf-8")
    assert load_agent_config_file(file).switching.mode == mode


def test_a_wrong_word_in_a_config_is_explained(tmp_path: Any) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("manager: react\nswitching: {mode: semantics, max_tool: 3}\n", encoding="utf-8")
    with pytest.raises(AgentConfigError) as raised:
        load_agent_config_file(file)
    assert "switching.mode: 'semantics' is not an option" in str(raised.value)
    assert "did you mean 'max_tools'" in str(raised.value)
