"""Tools for an agent's working memory within a turn: make room, and look at an older step again."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.tools import ToolException, tool
from langgraph.prebuilt import ToolRuntime

_WHOLE = "Nothing is compressed: every step stands in the conversation, whole."


@tool
def compress_working_memory(runtime: ToolRuntime[Any, Any]) -> str:
    """Shorten your older steps of this request to make room; the latest stay whole. Use it when results get long."""
    if _notes(runtime) is None:
        return _WHOLE
    return "Your older steps are now short notes, as far as there are any; the latest steps stay whole."


@tool
def recall_step(step: int, runtime: ToolRuntime[Any, Any]) -> str:
    """Return one of your earlier steps of this request whole: the call and all of its result.

    Args:
        step: The number of the step in the notes, from 1.
    """
    notes = _notes(runtime)
    if notes is None:
        return _WHOLE
    steps = notes["steps"]
    if not 1 <= step <= len(steps):
        raise ToolException(f"there is no step {step}; " + (f"give a number from 1 to {len(steps)}" if steps else ""))
    found = steps[step - 1]
    arguments = json.dumps(found["arguments"], ensure_ascii=False, default=str)
    thought = f"{found['thought']}\n" if found["thought"] else ""
    return f"{thought}{found['action']}({arguments})\n{found['error'] or found['observation']}"


def _notes(runtime: ToolRuntime[Any, Any]) -> dict[str, Any] | None:
    state = runtime.state
    notes: dict[str, Any] | None = state.get("working_memory") if isinstance(state, dict) else None
    return notes
