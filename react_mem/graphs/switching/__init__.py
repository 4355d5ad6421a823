"""The switching engine: of many tools, a turn offers the model a handful; the others stay within reach."""

from react_mem.graphs.switching.switching import Switching, SwitchState

__all__ = ["SwitchState", "Switching"]
