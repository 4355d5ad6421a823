"""The layers of memory as routes: which of them a request asks for."""

from __future__ import annotations

from react_mem.memory import MemoryScope
from react_mem.prompts import load_prompt
from react_mem.tools.routing.routes import Route


def layer_routes() -> list[Route]:
    """Return a route for each layer that is searched before an answer. Blocking the first time: it reads a file.

    >>> [route.name for route in layer_routes()]
    ['dialog', 'semantic', 'episodic', 'procedural']
    """
    routes: list[Route] = []
    for line in load_prompt("switch_layers").splitlines():
        if line.startswith("- "):
            last = routes.pop()
            routes.append(Route(last.name, last.description, examples=(*last.examples, line[2:].strip())))
        else:
            name, _, description = line.partition(":")
            routes.append(Route(str(MemoryScope(name.strip())), description.strip()))
    return routes
