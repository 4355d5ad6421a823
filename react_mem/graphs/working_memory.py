"""Working memory: the agent's steps towards its goal within one invocation.

Older steps are compressed in the prompt, never in the messages of the thread: every so many steps, when they
take too much room, or when the agent asks for it. Between two compressions the prompt only grows at its end.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile
from typing import Any, Final, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from typing_extensions import TypedDict

from react_mem.graphs.model_call import latency_of
from react_mem.graphs.schemas import current_turn
from react_mem.memory import MemoryPolicy, telemetry
from react_mem.memory.context import count_tokens, flat, followed_by, is_step, is_users, squeezed_text, text_of
from react_mem.memory.language import normalise
from react_mem.prompts import load_prompt
from react_mem.tools.plain_tools import compress_working_memory

# Older steps in few words, without asking a model: how each began, and whatever of it a later step uses.

_LEVELS = (240, 80, 0)
"""Characters of a result's beginning that are kept: as much as fits. 240 characters hold the whole result of most
calls: a sum, a date, a status.
"""

_MIN_CALL_CHARS = 80
"""Without its call a step says nothing."""

_GOAL_CHARS = 300
"""The whole goal stands above the notes, as the user wrote it."""

_PIECES_A_TERM = 3
"""A number that stands in every row says nothing about any; three rows keep it and its context."""

_RARE = 2
"""In how many pieces of a result a common word may stand to point at them."""

_JOINED = r"\w.:/@#&?=%+-"
_HALF_TOKEN = re.compile(rf"[{_JOINED},]+\Z")
# up to 200 characters, cut in no word, number or identifier, if need be after a comma or further on
_PIECE = re.compile(rf".{{1,200}}(?:(?<![{_JOINED},])|(?![{_JOINED},]))|.{{1,200}}(?<=,)|[{_JOINED}]+,?", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？])\s+|\s*\n\s*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# from the beginning of a word only: tried at each of its letters, 80,000 of them without a space take minutes
_COMPOUND = re.compile(r"(?<!\w)\w+(?:[-./:@#&?=%+]+\w+)+")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")


class LoggedStep(TypedDict):
    """One step of the loop: a thought, an action and its result (`observation`, or `error`).

    `latency` is in seconds; `cost` is a share of the price of the model's call that asked for it.
    """

    thought: str
    action: str
    arguments: dict[str, Any]
    observation: str
    error: str
    latency: NotRequired[float]
    cost: NotRequired[float]


def digest(goal: str, steps: Sequence[LoggedStep], count: int, max_chars: int) -> tuple[str, bool]:
    """Return the first `count` steps in few words, a line a step, and true if `recall_step` has more.

    The parts of a step that a later step uses are kept even beyond `max_chars`: the sentence or line with each number
    and identifier of a later thought, argument or result, and with each rare word of a later thought or argument.

    >>> step = {"thought": "", "action": "add", "arguments": {"a": 1}, "observation": "3", "error": ""}
    >>> print(digest("Sum up", [step], 1, 1000)[0])
    Goal: Sum up
    1. add({"a": 1}) -> 3
    """
    later = _used_later(steps)
    notes = [_note(steps, place, later[place]) for place in range(count)]
    title = f"Goal: {_begin(flat(goal), _GOAL_CHARS)}"
    for head in _LEVELS:
        lines = [note(head) for note in notes]
        text = "\n".join([title, *(line for line, _ in lines)])
        if len(text) <= max_chars:
            break
    return text, any(cut for _, cut in lines)


def _used_later(steps: Sequence[LoggedStep]) -> list[frozenset[str]]:
    """Return the terms of the steps after each step."""
    terms: frozenset[str] = frozenset()
    found = []
    for step in reversed(steps):
        found.append(terms)
        seen = _terms(step["error"] or step["observation"])
        # what an agent writes is what it works with; a result repeats common words and small numbers by chance
        terms |= _terms(f"{step['thought']} {_arguments(step)}") | {t for t in seen if len(t) > 2 and not t.isalpha()}
    return found[::-1]


def _note(steps: Sequence[LoggedStep], place: int, later: frozenset[str]) -> Callable[[int], tuple[str, bool]]:
    """Return the function that writes a step in a line, with so much of its beginning, and says if it left any out."""
    step = steps[place]
    # calls that were made at once share their thought
    shared = place and steps[place - 1]["thought"] == step["thought"]
    thought = _excerpt("" if shared else step["thought"], later)
    call = _excerpt(f"{step['action']}({_arguments(step)})", later)
    result = _excerpt(step["error"] or step["observation"], later)

    def line(head: int) -> tuple[str, bool]:
        (thinks, *cuts), (calls, cut) = thought(head), call(max(head, _MIN_CALL_CHARS))
        says, short = result(head)
        mark = "error: " if step["error"] else ""
        text = f"{place + 1}. {f'{thinks} | ' if thinks else ''}{calls} -> {mark}{says}".rstrip()
        left_out = any((*cuts, cut, short))
        return text + (f" [cut; recall_step({place + 1}) returns it whole]" if left_out else ""), left_out

    return line


def _excerpt(text: str, later: frozenset[str]) -> Callable[[int], tuple[str, bool]]:
    """Return the function from a length to a text's beginning and the pieces used later, and true if more is left."""
    whole = flat(text)
    pieces = [flat(piece) for sentence in _SENTENCE_END.split(text.strip()) for piece in _PIECE.findall(sentence)]
    places: dict[str, list[int]] = {}
    for place, piece in enumerate(pieces):
        for term in _terms(piece, parts=True):
            places.setdefault(term, []).append(place)
    telling = {term: found for term, found in places.items() if len(found) <= _RARE or not term.isalpha()}
    used = _holding(telling, later)

    def excerpt(head: int) -> tuple[str, bool]:
        if len(whole) <= head:
            return whole, False
        kept = set(used)
        length = 0
        for place, piece in enumerate(pieces):
            length += len(piece) + 1
            if length > head + 1:
                break
            kept.add(place)
        parts = [_begin(pieces[0], head)] if head and 0 not in kept and pieces else []
        for before, after in pairwise([-1, *sorted(kept), len(pieces)]):
            if after - before > 1 and not (parts and parts[-1].endswith("…")):
                parts.append("…")
            parts += pieces[after : after + 1]
        return " ".join(parts), len(kept) < len(pieces)

    return excerpt


def _holding(places: Mapping[str, list[int]], terms: frozenset[str]) -> set[int]:
    """Return the places of the pieces that hold some terms: of each term, the pieces that hold most of them."""
    found = [places[term] for term in terms & places.keys()]
    weight = Counter(chain.from_iterable(found))
    return {p for held in found for p in sorted(held, key=lambda place: (-weight[place], place))[:_PIECES_A_TERM]}


def _terms(text: str, *, parts: bool = False) -> frozenset[str]:
    """Return the words, numbers and identifiers of a text.

    With `parts` each part of a number is one too: 1,200 may be one number or two.
    """
    folded = normalise(text)
    numbers = {form for number in _NUMBER.findall(folded) for form in _forms(number, parts)}
    tokens = {*_COMPOUND.findall(folded), *_WORD.findall(folded)}
    return frozenset(numbers | {token for token in tokens if _is_telling(token)})


def _is_telling(token: str) -> bool:
    """Return true for an identifier or a word that is no particle."""
    if token.isalpha():
        return len(token) >= (4 if token.isascii() else 3)
    # two searches, not one pattern for both orders: that one takes minutes for 80,000 letters without a space
    return not token.isalnum() or bool(_DIGIT.search(token) and _LETTER.search(token))


def _forms(number: str, parts: bool) -> set[str]:
    """Return a number without separators, so that 652,000 is found as 652000; a list of numbers one by one."""
    split = re.split("[.,]", number)
    joined = {"".join(split)} if len(split) <= 2 or all(len(part) == 3 for part in split[1:]) else set(split)
    return joined | set(split) if parts else joined


def _begin(text: str, limit: int) -> str:
    """Return the beginning of a text without half a number: `1234567` must not be read as 123."""
    return text if len(text) <= limit else f"{_HALF_TOKEN.sub('', text[: limit + 1]).rstrip()}…"


def _arguments(step: LoggedStep) -> str:
    return json.dumps(step["arguments"], ensure_ascii=False, default=str)


_FORM = load_prompt("compressed_steps")

_SHOWN: Final = ("thought", "action", "arguments", "observation", "error")
"""Parts of a step that the model sees."""

_CHARS_PER_TOKEN = 3
"""Characters per token of notes, which are names, numbers and identifiers: they take more tokens than prose."""


class Compressed(TypedDict):
    """Notes on the older `steps`; the prompt has the messages from `raw_from` on; `cut` if something is left out."""

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
    messages: Sequence[AnyMessage], before: WorkingMemory | None, policy: MemoryPolicy, room: int | None = None
) -> WorkingMemory:
    """Return the notes on a turn, derived from its messages: a retried node cannot note a step twice.

    `room` bounds the tokens of all steps, where that is less than `compress_above`.
    """
    settings = policy.context
    most = settings.compress_above if room is None else min(settings.compress_above, room)
    turn = current_turn(messages)
    goal = text_of(turn[0]) if turn and is_users(turn[0]) else ""
    rounds = _rounds(turn)
    steps = [step for round_ in rounds for step in round_.steps]
    compressed = before["compressed"] if before else None
    noted = len(before["steps"]) if before else 0
    done = compressed["steps"] if compressed else 0
    raw = next((r for r in reversed(rounds) if r.start <= len(steps) - settings.keep_raw_steps), None)
    # a turn that no user began has no message for the notes to stand in
    if (
        raw is not None
        and raw.start > done
        and goal
        and _is_due(rounds, noted, compressed, settings.compress_every, most)
    ):
        left = most - sum(r.tokens for r in rounds if r.start >= raw.start)
        short, cut = digest(goal, steps, raw.start, left * _CHARS_PER_TOKEN - len(_FORM))
        compressed = Compressed(text=_FORM.format(steps=short), steps=raw.start, raw_from=str(raw.message.id), cut=cut)
    return WorkingMemory(goal=goal, steps=steps, compressed=compressed)


def with_compressed_steps(
    messages: Sequence[BaseMessage], notes: WorkingMemory | None, max_tokens: int | None = None
) -> list[BaseMessage]:
    """Return the messages for the prompt, with the notes in place of the older steps of this turn.

    The notes stand at the end of the user's message: every provider and template takes that, calls and results stay
    paired, roles alternate as before, and the messages before it stay the same. If the model thought only before its
    first calls, these stay, with their thinking: Anthropic takes no calls of a turn without it.
    """
    compressed = notes["compressed"] if notes else None
    asked = next((i for i in range(len(messages) - 1, -1, -1) if is_users(messages[i])), len(messages))
    raw = next(
        (i for i in range(asked, len(messages)) if compressed and messages[i].id == compressed["raw_from"]), None
    )
    if compressed is None or raw is None:
        return list(messages)
    rest = [message for message in messages[asked + 1 : raw] if not is_step(message)]
    thought = next((i for i in range(raw, asked, -1) if _thinks_first(messages[i])), raw)
    results = takewhile(lambda message: isinstance(message, ToolMessage), messages[thought + 1 : raw])
    return [
        *messages[:asked],
        followed_by(messages[asked], squeezed_text(compressed["text"], max_tokens)),
        *rest,
        *([messages[thought], *results] if thought < raw else []),
        *messages[raw:],
    ]


def _thinks_first(message: BaseMessage) -> bool:
    """Return true for an answer that begins with the model's thinking, in a provider's or LangChain's form."""
    first = message.content[0] if isinstance(message.content, list) and message.content else ""
    return isinstance(first, dict) and first.get("type") in ("thinking", "redacted_thinking", "reasoning")


def _rounds(turn: Sequence[AnyMessage]) -> list[_Round]:
    rounds: list[_Round] = []
    start = 0
    for place, message in enumerate(turn):
        if not (isinstance(message, AIMessage) and is_step(message)):
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


def _is_due(rounds: Sequence[_Round], noted: int, compressed: Compressed | None, every: int, most: int) -> bool:
    total = rounds[-1].start + len(rounds[-1].steps)
    if total // every > noted // every:
        return True
    new = [step for round_ in rounds if round_.start >= noted for step in round_.steps]
    if any(step["action"] == compress_working_memory.name for step in new):
        return True
    done = compressed["steps"] if compressed else 0
    shown = count_tokens(compressed["text"]) if compressed else 0
    shown += sum(round_.tokens for round_ in rounds if round_.start >= done)
    return shown > most
