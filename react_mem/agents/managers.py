"""The managers by name. Each is resolved by dotted name when it is built, so that agents never imports graphs."""

from __future__ import annotations

MANAGERS: dict[str, str] = {
    "react": "react_mem.graphs.react:build_graph",
    "react_mem": "react_mem.graphs.react_mem:build_graph",
}
"""Graph builder of each manager: `module:function`, a `GraphBuilder` of `agents.resolve`."""
