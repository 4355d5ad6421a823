"""`react-mem memory graph`: the links between a user's memories, as a page to look at or for other programs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import Graph, to_graphml, to_html, to_json

MAX_DRAWN = 2_000
"""Memories on a page, those with the most links: of more a browser draws nothing but a cloud, and takes its time."""

FORMATS: dict[str, Callable[[Graph], str]] = {"html": to_html, "json": to_json, "graphml": to_graphml}
_ENDINGS = {".json": "json", ".graphml": "graphml", ".xml": "graphml"}


@dataclass(frozen=True)
class Drawing:
    """A graph as a file has it.

    Args:
        text: The file.
        graph: What is in it.
        left_out: How many memories are not.
    """

    text: str
    graph: Graph
    left_out: int


def add_graph_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Args:
        parser: The subcommand's.
    """
    parser.add_argument("--out", default="-", help="where to; by default, and for -, the standard output")
    parser.add_argument(
        "--format", choices=FORMATS, help="a page to look at, or for other programs (default: by the file's ending)"
    )


async def draw(memory: MemoryFacade, user_id: str, file: str, format_: str | None) -> Drawing:
    """Return the links between a user's memories.

    Args:
        memory: The facade.
        user_id: The user.
        file: The name of the file, whose ending says how it is written.
        format_: How it is written, whatever the ending.
    """
    graph = await memory.graph.whole(user_id)
    name = format_ or _ENDINGS.get(PurePath(file).suffix.lower(), "html")
    shown = graph.largest(MAX_DRAWN) if name == "html" else graph
    return Drawing(FORMATS[name](shown), shown, len(graph.nodes) - len(shown.nodes))
