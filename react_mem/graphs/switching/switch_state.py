"""State of tool selection in a turn; private to the managers that use it."""

from __future__ import annotations

from typing import Any, NotRequired

from langchain_core.messages import ToolMessage

from react_mem.graphs.agent_state import AgentState


class SwitchState(AgentState):
    """The state with a choice of tools.

    Args:
        selected_tools: The names of the chosen tools, the most likely first; None for all there are.
        likely_tools: Those that the request may need, the most likely first, where some may run ahead.
        suggestions: Next steps: `tool`, `text`, `after` and `times`, as in the event `suggestion`.
        prefetched: Results of tools that ran ahead and were then called, by call; None outside of the step that uses
            them.
    """

    selected_tools: NotRequired[list[str] | None]
    likely_tools: NotRequired[list[str]]
    suggestions: NotRequired[list[dict[str, Any]]]
    prefetched: NotRequired[dict[str, ToolMessage] | None]
