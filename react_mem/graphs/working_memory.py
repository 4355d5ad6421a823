"""Working memory: what the agent has done for its goal, step by step, within one invocation.

Older steps are compressed in what the model sees, never in the messages of the thread: every so many steps, when they
take too much room, or when the agent asks for it. Between two compressions the prompt only grows at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from typing_extensions import TypedDict

from react_mem.graphs.agent_state import current_turn
from react_mem.graphs.compression import LoggedStep, digest
from react_mem.graphs.latency import latency_of
from react_mem.memory import telemetry
from react_mem.memory.context import count_tokens, is_users, squeezed_text, text_of
from react_mem.memory.runtime import ContextSettings
from react_mem.prompts import load_prompt
from react_mem.tools.working_memory_tools import compress_working_memory

_FORM = load_prompt("compressed_steps")

_SHOWN: Final = ("thought", "action", "arguments", "observation", "error")
"""Parts of a step that the model sees."""

_CHARS_PER_TOKEN = 3
"""Notes are names, numbers and identifiers, which take more tokens than prose does."""


class Compressed(TypedDict):
    """The older steps as the model sees them.

    Args:
        text: The notes on them.
        steps: How many they are.
        raw_from: The id of the message from which on the model sees the messages themselves.
        cut: Whether the notes leave something out.
    """

    text: str
    steps: int
    raw_from: str
    cut: bool


class WorkingMemory(TypedDict):
    """The agent's notes of one invocation, discarded at its end."""

    goal: str
    steps: list[LoggedStep]
    compressed: Compressed | None


@dataclass(frozen=True)
class _Round:
    """One answer of the model that calls tools, with their results: they are shown or left out together."""

    message: AIMessage
    start: int
    steps: list[LoggedStep]
    tokens: int


def update_working_memory(
    messages: Sequence[AnyMessage], before: WorkingMemory | None, settings: ContextSettings
) -> WorkingMemory:
    """Return the notes on a turn, derived from its messages: a retried node cannot note a step twice.

    Args:
        messages: The messages of the conversation.
        before: The notes so far; None where the turn begins.
        settings: When to compress, and how many steps stay as they are.
    """
    turn = current_turn(messages)
    goal = text_of(turn[0]) if turn and is_users(turn[0]) else ""
    rounds = _rounds(turn)
    steps = [step for round_ in rounds for step in round_.steps]
    compressed = before["compressed"] if before else None
    noted = len(before["steps"]) if before else 0
    done = compressed["steps"] if compressed else 0
    raw = next((r for r in reversed(rounds) if r.start <= len(steps) - settings.keep_raw_steps), None)
    # a turn that no user began has no message for the notes to stand in
    if raw is not None and raw.start > done and goal and _is_due(rounds, noted, compressed, settings):
        room = settings.compress_above - sum(r.tokens for r in rounds if r.start >= raw.start)
        short = digest(goal, steps, raw.start, room * _CHARS_PER_TOKEN - len(_FORM))
        compressed = Compressed(
            text=_FORM.format(steps=short.text), steps=raw.start, raw_from=str(raw.message.id), cut=short.cut
        )
    return WorkingMemory(goal=goal, steps=steps, compressed=compressed)


def with_compressed_steps(
    messages: Sequence[BaseMessage], notes: WorkingMemory | None, max_tokens: int | None = None
) -> list[BaseMessage]:
    """Return the messages for the prompt, the notes on the older steps of this turn in their place.

    The notes stand at the end of the user's message: every provider and template takes that, calls and results stay
    paired, roles alternate as before, and all that is before this message stays the same.

    Args:
        messages: The messages of the conversation, or its last part.
        notes: The notes on the turn.
        max_tokens: What the notes on the older steps may take; None for any number.
    """
    compressed = notes["compressed"] if notes else None
    asked = next((i for i in range(len(messages) - 1, -1, -1) if is_users(messages[i])), len(messages))
    raw = next(
        (i for i in range(asked, len(messages)) if compressed and messages[i].id == compressed["raw_from"]), None
    )
    if compressed is None or raw is None:
        return list(messages)
    rest = [message for message in messages[asked + 1 : raw] if not _is_step(message)]
    return [
        *messages[:asked],
        with_note(messages[asked], squeezed_text(compressed["text"], max_tokens)),
        *rest,
        *messages[raw:],
    ]


def _rounds(turn: Sequence[AnyMessage]) -> list[_Round]:
    rounds: list[_Round] = []
    start = 0
    for place, message in enumerate(turn):
        if not (isinstance(message, AIMessage) and _is_step(message)):
            continue
        # there are servers that begin again with `call_0` in every answer: only what follows at once belongs to it
        following = takewhile(lambda m: isinstance(m, ToolMessage), turn[place + 1 :])
        results = {result.tool_call_id: result for result in following if isinstance(result, ToolMessage)}
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        cost = telemetry.cost_of(message)
        share = cost / len(calls) if cost is not None else None
        steps = [_step(message.text, call, results.get(call["id"] or ""), share) for call in calls]
        tokens = sum(count_tokens(str(step[part])) for step in steps for part in _SHOWN)
        rounds.append(_Round(message, start, steps, tokens))
        start += len(steps)
    return rounds


def _step(thought: str, call: Any, result: ToolMessage | None, cost: float | None) -> LoggedStep:
    text = result.text if result is not None else ""
    failed = result is not None and result.status == "error"
    # of a call that could not be read, the raw text
    arguments = call["args"] if isinstance(call["args"], dict) else {"unreadable": call["args"]}
    step = LoggedStep(
        thought=thought,
        action=call["name"] or "",
        arguments=arguments,
        observation="" if failed else text,
        error=text if failed else "",
    )
    if result is not None and (latency := latency_of(result)) is not None:
        step["latency"] = latency
    if cost is not None:
        step["cost"] = cost
    return step


def _is_due(rounds: Sequence[_Round], noted: int, compressed: Compressed | None, settings: ContextSettings) -> bool:
    total = rounds[-1].start + len(rounds[-1].steps)
    if total // settings.compress_every > noted // settings.compress_every:
        return True
    new = [step for round_ in rounds if round_.start >= noted for step in round_.steps]
    if any(step["action"] == compress_working_memory.name for step in new):
        return True
    done = compressed["steps"] if compressed else 0
    shown = count_tokens(compressed["text"]) if compressed else 0
    shown += sum(round_.tokens for round_ in rounds if round_.start >= done)
    return shown > settings.compress_above


def _is_step(message: BaseMessage) -> bool:
    if isinstance(message, AIMessage):
        return bool(message.tool_calls or message.invalid_tool_calls)
    return isinstance(message, ToolMessage)


def with_note(asked: BaseMessage, notes: str) -> BaseMessage:
    """Return a message of the user with notes at its end."""
    content = asked.content
    whole = f"{content}\n\n{notes}" if isinstance(content, str) else [*content, {"type": "text", "text": notes}]
    return asked.model_copy(update={"content": whole})
