"""The tools and the requests, and which half of them is for tuning."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict

_DATA = Path(__file__).with_name("data")


class ToolData(BaseModel):
    """A tool as the data file describes it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    arguments: dict[str, str]
    examples: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()

    def as_tool(self, *, described: bool = True) -> BaseTool:
        """Return the tool as a model gets it.

        Args:
            described: Whether its metadata says what is known of it beside its description.
        """
        first, *_ = self.arguments
        properties = {name: {"type": "string", "description": about} for name, about in self.arguments.items()}
        known: dict[str, Any] = {"examples": self.examples, "after": self.after, "requires": self.requires}
        return StructuredTool.from_function(
            lambda **arguments: str(arguments),
            name=self.name,
            description=self.description,
            args_schema={"type": "object", "properties": properties, "required": [first]},
            metadata=known if described else None,
        )


class Request(BaseModel):
    """A request, and what it needs.

    Args:
        lang: Its language.
        text: What the user says.
        tools: The tools that it needs; none where it is talk.
        layers: The layers of memory that it asks for, if any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    lang: Literal["en", "vi"]
    text: str
    tools: tuple[str, ...]
    layers: tuple[str, ...] = ()

    @property
    def half(self) -> Literal["tune", "test"]:
        """Return the half it is in: constants may be chosen with one half, and are judged by the other."""
        return "test" if zlib.crc32(self.text.encode()) % 2 else "tune"


def load_tools() -> list[ToolData]:
    """Return the tools."""
    return [ToolData.model_validate(row) for row in _rows("tools")]


def load_requests(half: Literal["tune", "test"]) -> list[Request]:
    """Return the requests of one half.

    Args:
        half: Which.
    """
    return [request for row in _rows("requests") if (request := Request.model_validate(row)).half == half]


def _rows(name: str) -> Sequence[Any]:
    rows: Sequence[Any] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return rows
