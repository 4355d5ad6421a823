"""Decisions about the prompt of a turn, and the prompt that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NotRequired, overload

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage

# On Python < 3.12 typing.TypedDict yields null JSON schemas in the server.
from typing_extensions import TypedDict

from react_mem.memory.context.dialogue import bounded, current_start, is_step, squeezed, visible
from react_mem.memory.merging.transcript import is_users
from react_mem.prompts import load_prompt

_FORGOTTEN = load_prompt("forgotten_message")


class Layout(TypedDict):
    """Decisions about the prompt of a turn, for all its steps: they only add to its end.

    The beginning stays the same, byte for byte, so that provider caches hit.

    Args:
        retrieved: What stands between the instructions and the conversation.
        first: The id of the first message that is shown; empty for the whole thread, as it is.
        whole: The id of the message from which on the agent's steps are shown as well.
        question_tokens: What a message of the user may take in this turn; None for any number.
        result_tokens: What the result of a tool may, and the notes on older steps.
        step_tokens: What the steps of the turn may take together.
        offered: The ids of the skills that the prompt shows, or that were kept back from it, to compare.
        used: The ids of the memories that the prompt shows, as many as feedback goes to.
        kinds: The kinds of task of these skills, with the tools of one of each.
        searched: Whether it shows pages of the web.
        snapshot: Whether a snapshot is made of the turn when it is drawn from.
        forgotten: The ids of messages that are forgotten. The thread keeps them, and no model is to take them up again.
    """

    retrieved: str
    first: str
    whole: str
    question_tokens: int | None
    result_tokens: int | None
    step_tokens: int
    offered: NotRequired[list[str]]
    used: NotRequired[list[str]]
    kinds: NotRequired[dict[str, list[str]]]
    searched: NotRequired[bool]
    snapshot: NotRequired[bool]
    forgotten: NotRequired[list[str]]


def lay_out(
    thread: Sequence[AnyMessage], layout: Layout | None, instructions: str | SystemMessage, max_message_chars: int
) -> list[BaseMessage]:
    """Return the prompt: the instructions, what was retrieved, and what is shown of the thread.

    Args:
        thread: The messages of the conversation.
        layout: What was decided for this turn; None for the instructions and the whole thread.
        instructions: The system prompt; what was retrieved comes behind its content blocks, so that a mark for the
            provider's cache in one of them holds.
        max_message_chars: What is shown of a message of an earlier turn.
    """
    head = _system(instructions, layout["retrieved"] if layout else "")
    if layout is None:
        return [*head, *thread]
    thread = _without(thread, frozenset(layout.get("forgotten") or ()))
    now = current_start(thread)
    if not layout["first"]:
        return [*head, *thread[:now], *(_current(message, layout) for message in thread[now:])]
    ids = [message.id for message in thread[: now + 1]]
    # what was shown first may have been removed from the thread since: then all that is left of it is shown
    first, whole = (ids.index(id_) if id_ in ids else 0 for id_ in (layout["first"], layout["whole"]))
    for place in visible(thread, first, whole):
        message = thread[place]
        head.append(bounded(message, max_message_chars) if place < now else _current(message, layout))
    return head


def _without(thread: Sequence[AnyMessage], forgotten: Collection[str]) -> Sequence[AnyMessage]:
    """Return a thread that shows nothing of forgotten messages of earlier turns, or of what was done in these turns."""
    if not forgotten:
        return thread
    now = current_start(thread)
    blank = {"content": _FORGOTTEN, "additional_kwargs": {}}
    shown: list[AnyMessage] = []
    turn: list[AnyMessage] = []
    for message in [*thread[:now], None]:
        if message is None or is_users(message):
            named = any(one.id in forgotten for one in turn)
            left = (one for one in turn if not (named and is_step(one)))
            shown += [one.model_copy(update=blank) if one.id in forgotten else one for one in left]
            turn = []
        if message is not None:
            turn.append(message)
    return [*shown, *thread[now:]]


def _system(instructions: str | SystemMessage, retrieved: str) -> list[BaseMessage]:
    system = followed_by(instructions, retrieved)
    if isinstance(system, str):
        return [SystemMessage(system)] if system else []
    return [system]


@overload
def followed_by(instructions: str, text: str) -> str: ...


@overload
def followed_by(instructions: str | SystemMessage, text: str) -> str | SystemMessage: ...


def followed_by(instructions: str | SystemMessage, text: str) -> str | SystemMessage:
    """Return instructions with a text behind them; content blocks stay as they are.

    Args:
        instructions: The instructions.
        text: The text; empty for none.
    """
    if isinstance(instructions, str):
        return "\n\n".join(filter(None, (instructions, text)))
    if not text:
        return instructions
    content = instructions.content
    if isinstance(content, str):
        return instructions.model_copy(update={"content": f"{content}\n\n{text}"})
    return instructions.model_copy(update={"content": [*content, {"type": "text", "text": f"\n\n{text}"}]})


def _current(message: AnyMessage, layout: Layout) -> BaseMessage:
    if isinstance(message, SystemMessage):
        return message
    return squeezed(message, layout["question_tokens" if is_users(message) else "result_tokens"])
