"""The switching engine: of many tools, a turn offers the model a handful; the others stay within reach."""

from react_mem.graphs.switching.switch_state import SwitchState
from react_mem.graphs.switching.switching import Switching

__all__ = ["SwitchState", "Switching"]
