"""The tool by which an agent that is shown some of its tools finds the others."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime

from react_mem.tools.routing.relations import first_sentence
from react_mem.tools.routing.router import Router
from react_mem.tools.routing.routes import Route

FIND_TOOLS = "find_tools"
FOUND = "found_tools"
"""Key in the result's artifact for the tools that are offered from then on."""

_FOUND = 5
"""Tools that are found at once."""

_MAX_NAMES = 300
"""Names that are told where nothing is found."""


def make_find_tools(routes: dict[str, Route], router: Router, seconds: float) -> BaseTool:
    """Return the tool.

    Args:
        routes: All tools, by name.
        router: Ranks them.
        seconds: How long the embedder may take.
    """

    @tool(FIND_TOOLS, response_format="content_and_artifact")
    async def find_tools(query: str, runtime: ToolRuntime[Any, Any]) -> tuple[str, dict[str, list[str]]]:
        """Find more of your tools: you are shown only some of them. Use it when none of those does what is needed.

        Args:
            query: What the tool should do, or its name.
        """
        named = [name for name in routes if name.casefold() == query.strip().casefold()]
        ranking = await router.rank(query, runtime.store, seconds)
        # words that are not there say nothing, a vector always says something
        near = [route.name for route, score in ranking.tools[:_FOUND] if score > 0]
        found = list(dict.fromkeys([*named, *near]))[:_FOUND]
        if not found:
            names = ", ".join(list(routes)[:_MAX_NAMES])
            return f"Nothing is like that. These are all tools, find one by its name: {names}", {FOUND: []}
        lines = [f"- {name}: {first_sentence(routes[name].description)}" for name in found]
        return "\n".join(["You can now use:", *lines]), {FOUND: found}

    return find_tools
