"""End of an answer that the runtime added: part of the message, and not of what the model said."""

from __future__ import annotations

from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage

APPENDED = "appended"
"""Names the end of an answer that the runtime added, such as next steps: nothing to recall later, or to say again."""

Said = TypeVar("Said", bound=BaseMessage)


def with_appended(answer: AIMessage, line: str) -> AIMessage:
    """Return an answer that ends in a line of the runtime's.

    Args:
        answer: What the model said.
        line: The line.

    >>> with_appended(AIMessage("Painted."), "Next: wash it.").text
    'Painted.\\n\\nNext: wash it.'
    """
    end = f"\n\n{line}"
    content = answer.content + end if isinstance(answer.content, str) else [*answer.content, _block(end)]
    return answer.model_copy(
        update={"content": content, "additional_kwargs": {**answer.additional_kwargs, APPENDED: end}}
    )


def as_said(message: Said) -> Said:
    """Return a message without what the runtime appended to it.

    Args:
        message: The message.

    >>> as_said(with_appended(AIMessage("Painted."), "Next: wash it.")).text
    'Painted.'
    """
    end = message.additional_kwargs.get(APPENDED) if message.additional_kwargs else None
    if not isinstance(end, str) or not end:
        return message
    marks = {name: value for name, value in message.additional_kwargs.items() if name != APPENDED}
    content = message.content
    if isinstance(content, str):
        left: str | list[str | dict[str, Any]] = content.removesuffix(end)
    else:
        left = content[:-1] if content and content[-1] == _block(end) else content
    return message.model_copy(update={"content": left, "additional_kwargs": marks})


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
