"""The custom stream: what an agent does, step by step, for a terminal or a page to show.

Each event is a dict with a `type`:

- `thought`: `text`
- `action`: `id`, `name`, `args`
- `observation`: `id`, `name`, `content`, `error` (bool)
- `answer`: `text`
- `memory`: `operation` (`retrieve`, `extract` or `store`), `status` (`ok`, `off` or `degraded`), `message`, and what
  it retrieved (`items`) or changed (`stored`, `retired`); of a node with hooks, its name (`node`)
"""

from __future__ import annotations

from typing import Any, Literal

from langgraph.types import StreamWriter

MemoryStatus = Literal["ok", "off", "degraded"]


def thought(writer: StreamWriter, text: str) -> None:
    """Report what the model thinks before it acts."""
    writer({"type": "thought", "text": text})


def action(writer: StreamWriter, call: dict[str, Any]) -> None:
    """Report a tool call."""
    writer({"type": "action", "id": call["id"], "name": call["name"], "args": call["args"]})


def observation(writer: StreamWriter, *, id: str, name: str, content: str, error: bool) -> None:
    """Report a tool's result."""
    writer({"type": "observation", "id": id, "name": name, "content": content, "error": error})


def answer(writer: StreamWriter, text: str) -> None:
    """Report the answer of the turn."""
    writer({"type": "answer", "text": text})


def memory(
    writer: StreamWriter,
    operation: Literal["retrieve", "extract", "store"],
    status: MemoryStatus,
    message: str = "",
    **details: Any,
) -> None:
    """Report what memory did, or what is missing because it could not."""
    writer({"type": "memory", "operation": operation, "status": status, "message": message, **details})
