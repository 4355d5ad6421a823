"""Routes: descriptions of tools for choosing among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from react_mem.errors import ToolConfigError
from react_mem.tools.registry import valid_names


class RouteSettings(BaseModel, extra="forbid", frozen=True):
    """Description of a tool in a config, beside its own `metadata` of the same names."""

    examples: tuple[str, ...] = Field((), description="What people say who need it, in any language.")
    after: tuple[str, ...] = Field((), description="Tools after which it is often the next.")
    requires: tuple[str, ...] = Field((), description="Tools that it cannot be used without: they come with it.")
    prefetch: bool | None = Field(
        None,
        description="Whether it may run ahead while the model thinks: it only reads, and needs nothing or a `query`.",
    )


class SwitchSettings(BaseModel, extra="forbid", frozen=True):
    """Selection of a turn's tools and layers of memory."""

    mode: Literal["off", "semantic", "model"] = Field(
        "off",
        description="Choose nothing; or what is nearest to the request; or what the small model picks from the "
        "nearest, tools and layers in one more model call before each answer.",
    )
    above: int = Field(12, ge=1, description="So many tools are all offered: there is nothing to choose.")
    layers: Literal["off", "first", "limit"] = Field(
        "first",
        description="Choose the layers of memory of a turn too, whatever its tools: what is found in them gets room "
        "first, and with `limit` the others show their two best alone.",
    )
    max_tools: int = Field(10, ge=1, le=64, description="Tools that are offered, at most, beside `always`.")
    always: tuple[str, ...] = Field((), description="Tools that are offered in every turn.")
    routes: dict[str, RouteSettings] = Field(default_factory=dict, description="What is known of tools, by their name.")
    max_suggestions: int = Field(3, ge=0, le=10, description="Next steps that are suggested; 0 suggests none.")
    show_suggestions: bool = Field(
        False,
        description="Whether they stand at the end of the answer too, as a line that memory does not take for said.",
    )
    learn: bool = Field(True, description="Whether what the user's earlier turns called one after the other counts.")
    timeout: float = Field(
        3.0, gt=0, le=60, description="Seconds for the choice, the small model's call included; then the nearest do."
    )
    prefetch_seconds: float = Field(
        5.0, ge=0, le=60, description="Seconds that a tool may run ahead, beside the model's call; 0 runs none."
    )


def as_switch_settings(value: Any) -> Any:
    """Accept a mode in the place of settings: `switching: semantic` is `switching: {mode: semantic}`.

    >>> as_switch_settings("model")
    {'mode': 'model'}
    """
    if value is False:  # YAML reads a bare `off` as false
        value = "off"
    return {"mode": value} if isinstance(value, str) else value


MAX_EXAMPLES = 20
"""Examples of a route, each embedded."""

QUERY = "query"
"""The one argument that a whole request can fill."""

_MAX_CHARS = 1_000
"""Characters of a description, which begins with the purpose."""


@dataclass(frozen=True)
class Route:
    """A tool or a layer of memory that a request may need.

    `arguments` are names and descriptions as one text; `after` are frequent predecessors, `requires` tools that
    come with it. `ahead` is the argument for running before the model asks: `QUERY`, or empty for none; None
    forbids it.
    """

    name: str
    description: str
    arguments: str = ""
    examples: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    ahead: str | None = None

    @property
    def title(self) -> str:
        """The name as words.

        >>> Route("book_flight", "").title
        'book flight'
        """
        return self.name.replace("_", " ").replace("-", " ")


def tool_routes(tools: Sequence[BaseTool], settings: SwitchSettings) -> list[Route]:
    """Return the routes of tools: a tool's own `metadata` with the config's additions, or `prefetch` in its place.

    Raises ToolConfigError if the config names an unknown tool, or a `prefetch` tool needs more than one text.
    """
    known = {tool.name for tool in tools}
    named: dict[str, Sequence[str]] = {"routes": [*settings.routes], "always": settings.always}
    named |= {f"routes.{name}": (*given.after, *given.requires) for name, given in settings.routes.items()}
    for key, names in named.items():
        for name in names:
            if name not in known:
                raise ToolConfigError(f"switching.{key}: there is no tool {name!r}; {valid_names(name, known)}")
    return [_route(tool, settings) for tool in tools]


def _route(tool: BaseTool, settings: SwitchSettings) -> Route:
    declared, given = tool.metadata or {}, settings.routes.get(tool.name)
    function = convert_to_openai_tool(tool)["function"]
    parameters = function.get("parameters", {})
    described = {name: schema.get("description", "") for name, schema in parameters.get("properties", {}).items()}
    arguments = (f"{name.replace('_', ' ')} {text}".strip() for name, text in described.items())

    def both(key: str) -> tuple[str, ...]:
        own = declared.get(key) or ()
        own = (own,) if isinstance(own, str) else own
        return tuple(dict.fromkeys([*map(str, own), *(getattr(given, key) if given else ())]))

    prefetch = given.prefetch if given and given.prefetch is not None else declared.get("prefetch") is True
    return Route(
        name=tool.name,
        description=str(function.get("description") or "")[:_MAX_CHARS],
        arguments=", ".join(arguments)[:_MAX_CHARS],
        examples=both("examples")[:MAX_EXAMPLES],
        after=both("after"),
        requires=both("requires"),
        ahead=_ahead(tool.name, parameters) if prefetch else None,
    )


def _ahead(name: str, parameters: Mapping[str, Any]) -> str:
    required = list(parameters.get("required", ()))
    if not required:
        return ""
    if required == [QUERY] and parameters["properties"][QUERY].get("type") == "string":
        return QUERY
    raise ToolConfigError(
        f"tool {name!r} is marked prefetch, but needs {', '.join(required)}: only a tool that needs nothing, or a text "
        f"called {QUERY!r}, can run before the model has said what with; remove the mark"
    )
