"""Capabilities of chat models, as each declares them."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a chat model.

    Args:
        follows_instructions: Whether it plans, decides, sums up and fills in a schema as it is told; one that only
            quotes what it is shown does not.
        calls_tools: Whether it has an interface for tool calls; one without it can be given no tools.
    """

    follows_instructions: bool = True
    calls_tools: bool = True


def capabilities_of(model: BaseChatModel) -> Capabilities:
    """Return what a chat model can do: as its class declares in `capabilities`, else as a language model can.

    Args:
        model: Any chat model.
    """
    declared = getattr(model, "capabilities", None)
    if isinstance(declared, Capabilities):
        return declared
    return Capabilities(calls_tools=type(model).bind_tools is not BaseChatModel.bind_tools)
