"""Messages that operations cite."""

from __future__ import annotations

from datetime import datetime

from react_mem.memory.model.records import Message


def said_on(at: datetime, text: str = "") -> Message:
    """Return a message of the user's, said at a time."""
    whole = {"id": "m", "role": "user", "text": text, "content": text, "turn": 0, "session_id": "s", "agent_id": "a"}
    return Message.model_validate({**whole, "created_at": at})
