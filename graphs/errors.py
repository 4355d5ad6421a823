"""What goes wrong in a turn, in words for the person who sees it."""

from __future__ import annotations


class AgentError(Exception):
    """A turn that could not be answered; the message names the cause and the fix."""


class InvalidInputError(AgentError, ValueError):
    """The caller sent nothing that can be answered."""


class ModelCallError(AgentError):
    """The chat model failed."""


class StateSchemaError(AgentError, ValueError):
    """The state schema of a caller does not go with the agent's own."""
