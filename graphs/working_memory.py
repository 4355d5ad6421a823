"""The `update_working_memory` node: what the agent has done for its goal, step by step, within one invocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from typing_extensions import TypedDict

from graphs.state import current_turn
from memory.transcript import text_of


class Step(TypedDict):
    """One step of the loop: a thought, an action and what came of it."""

    thought: str
    action: str
    arguments: dict[str, Any]
    observation: str
    error: str


class WorkingMemory(TypedDict):
    """The agent's notes of one invocation, discarded at its end."""

    goal: str
    steps: list[Step]


def update_working_memory(messages: Sequence[AnyMessage]) -> WorkingMemory:
    """Return the notes on a turn, derived from its messages: a retried node cannot note a step twice.

    Args:
        messages: The messages of the conversation.
    """
    turn = current_turn(messages)
    goal = text_of(turn[0]) if turn and isinstance(turn[0], HumanMessage) else ""
    results = {message.tool_call_id: message for message in turn if isinstance(message, ToolMessage)}
    steps: list[Step] = []
    for message in turn:
        if not isinstance(message, AIMessage):
            continue
        for call in message.tool_calls:
            result = results.get(call["id"] or "")
            failed = result is not None and result.status == "error"
            text = result.text if result is not None else ""
            steps.append(
                Step(
                    thought=message.text,
                    action=call["name"],
                    arguments=call["args"],
                    observation="" if failed else text,
                    error=text if failed else "",
                )
            )
    return WorkingMemory(goal=goal, steps=steps)


def as_text(notes: WorkingMemory) -> list[str]:
    """Return the notes a line a step, after the line `Goal: ...`; empty where nothing was done."""
    lines = [
        f"{step['action']}({step['arguments']}) -> {step['error'] and 'error: '}{step['error'] or step['observation']}"
        for step in notes["steps"]
    ]
    return [f"Goal: {notes['goal']}", *lines] if lines else []
