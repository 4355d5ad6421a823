"""Tool by which an agent ends a conversation."""

from __future__ import annotations

from langchain_core.tools import tool


@tool
def end_conversation() -> str:
    """End this conversation with this answer: when the user says goodbye, or what they came for is done.

    What the conversation came to is then remembered as a whole. The user can still go on with it.
    """
    # storing the turn with this step ends the conversation
    return "The conversation ends with this answer."
