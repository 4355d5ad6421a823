"""Working memory: the agent's steps towards its goal within one invocation.

Older steps are compressed in the prompt, never in the messages of the thread: every so many steps, when they
take too much room, or when the agent asks for it. Between two compressions the prompt only grows at its end.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any, Final, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from typing_extensions import TypedDict

from react_mem.graphs.model_call import latency_of
from react_mem.graphs.schemas import current_turn
from react_mem.memory import MemoryPolicy, telemetry
from react_mem.memory.context import count_tokens, flat, is_users, squeezed_text, text_of
from react_mem.memory.language import normalise
from react_mem.prompts import load_prompt
from react_mem.tools.working_memory_tools import compress_working_memory

# Older steps in few words, without asking a model: how each began, and whatever of it a later step uses.

_LEVELS = ((240, 2), (80, 1), (0, 0))
"""Characters of a result's beginning, and number of its pieces about the goal, that are kept: as much as
fits. 240 characters hold the whole result of most calls: a sum, a date, a status.
"""

_MIN_CALL_CHARS = 80
"""Without its call a step says nothing."""

_GOAL_CHARS = 300
"""The whole goal stands above the notes, as the user wrote it."""

_PIECE_CHARS = 200
"""Length of a sentence or a row of a table; longer ones are cut between words, numbers and identifiers."""

_PIECES_A_TERM = 3
"""A number that stands in every row says nothing about any; three rows keep it and its context."""

_RARE = 2
"""In how many pieces of a result a common word may stand to point at them."""

_IN_A_TOKEN = re.compile(r"[\w.,:/@#&?=%+-]")
_NOT_IN_A_TOKEN = re.compile(r"[^\w.,:/@#&?=%+-]|,")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# from the beginning of a word only: tried at each of its letters, 80,000 of them without a space take minutes
_COMPOUND = re.compile(r"(?<!\w)\w+(?:[-./:@#&?=%+]+\w+)+")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？])\s+|\s*\n\s*")


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


@dataclass(frozen=True)
class Digest:
    """Steps in few words: `Goal: ...`, then a line a step; `cut` if `recall_step` has more."""

    text: str
    cut: bool


@dataclass(frozen=True)
class _Terms:
    """Terms by which a text is recognised: numbers and identifiers (`exact`), and words."""

    exact: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def __or__(self, other: _Terms) -> _Terms:
        return _Terms(self.exact | other.exact, self.words | other.words)


def digest(goal: str, steps: Sequence[LoggedStep], count: int, max_chars: int) -> Digest:
    """Return the first `count` steps in few words.

    The parts of a step that a later step uses are kept even beyond `max_chars`: the sentence or line with each number
    and identifier of a later thought, argument or result, and with each rare word of a later thought or argument.

    >>> step = {"thought": "", "action": "add", "arguments": {"a": 1}, "observation": "3", "error": ""}
    >>> print(digest("Sum up", [step], 1, 1000).text)
    Goal: Sum up
    1. add({"a": 1}) -> 3
    """
    later = _used_later(steps)
    aim = _terms(goal).words
    notes = [_Note(steps, place, later[place], aim) for place in range(count)]
    title = f"Goal: {_begin(flat(goal), _GOAL_CHARS)}"
    text, cut = title, False
    for head, extra in _LEVELS:
        lines = [note.line(head, extra) for note in notes]
        text = "\n".join([title, *(line for line, _ in lines)])
        cut = any(left_out for _, left_out in lines)
        if len(text) <= max_chars:
            break
    return Digest(text, cut)


def _used_later(steps: Sequence[LoggedStep]) -> list[_Terms]:
    terms = _Terms()
    found: list[_Terms] = []
    for step in reversed(steps):
        found.append(terms)
        said = _terms(f"{step['thought']} {_arguments(step)}")
        seen = _terms(step["error"] or step["observation"]).exact
        # what an agent writes is what it works with; a result repeats common words and small numbers by chance
        terms = terms | said | _Terms(frozenset(term for term in seen if len(term) > 2))
    return found[::-1]


class _Note:
    """One step, to be written in a line."""

    def __init__(self, steps: Sequence[LoggedStep], place: int, later: _Terms, aim: frozenset[str]) -> None:
        step = steps[place]
        # calls that were made at once share their thought
        shared = place and steps[place - 1]["thought"] == step["thought"]
        self._number = place + 1
        self._thought = _StepText("" if shared else step["thought"], later, aim)
        self._call = _StepText(f"{step['action']}({_arguments(step)})", later, aim)
        self._result = _StepText(step["error"] or step["observation"], later, aim)
        self._mark = "error: " if step["error"] else ""

    def line(self, head: int, extra: int) -> tuple[str, bool]:
        thought, cut_thought = self._thought.excerpt(head, 0)
        call, cut_call = self._call.excerpt(max(head, _MIN_CALL_CHARS), 0)
        result, cut_result = self._result.excerpt(head, extra)
        cut = cut_thought or cut_call or cut_result
        line = f"{self._number}. {f'{thought} | ' if thought else ''}{call} -> {self._mark}{result}".rstrip()
        return line + (f" [cut; recall_step({self._number}) returns it whole]" if cut else ""), cut


class _StepText:
    """A text of a step in pieces, of which the relevant ones are marked."""

    def __init__(self, text: str, later: _Terms, aim: frozenset[str]) -> None:
        self._flat = flat(text)
        self._pieces = [flat(piece) for piece in _pieces(text)]
        terms = [_terms(piece, parts=True) for piece in self._pieces]
        counts = Counter(word for held in terms for word in held.words)
        rare = frozenset(word for word, count in counts.items() if count <= _RARE)
        self._used = _holding(terms, later.exact, later.words & rare)
        near = {place: len(held.words & aim & rare) for place, held in enumerate(terms) if place not in self._used}
        self._near = sorted((place for place in near if near[place]), key=lambda place: -near[place])

    def excerpt(self, head: int, extra: int) -> tuple[str, bool]:
        """Return the beginning and the relevant pieces, and true if anything is left out."""
        if len(self._flat) <= head:
            return self._flat, False
        kept = self._used | set(self._near[:extra])
        length = 0
        for place, piece in enumerate(self._pieces):
            length += len(piece) + 1
            if length > head + 1:
                break
            kept.add(place)
        parts = [_begin(self._pieces[0], head)] if head and 0 not in kept and self._pieces else []
        for before, after in pairwise([-1, *sorted(kept), len(self._pieces)]):
            if after - before > 1 and not (parts and parts[-1].endswith("…")):
                parts.append("…")
            parts += self._pieces[after : after + 1]
        return " ".join(parts), len(kept) < len(self._pieces)


def _terms(text: str, *, parts: bool = False) -> _Terms:
    """Return the terms of a text; with `parts` each part of a number too: 1,200 may be one number or two."""
    folded = normalise(text)
    numbers = {form for number in _NUMBER.findall(folded) for form in _forms(number, parts)}
    tokens = {*_COMPOUND.findall(folded), *_WORD.findall(folded)}
    names = {token for token in tokens if _is_mixed(token) or not token.isalnum()}
    words = {token for token in tokens if token.isalpha() and len(token) >= (4 if token.isascii() else 3)}
    return _Terms(frozenset(numbers | names), frozenset(words))


def _is_mixed(token: str) -> bool:
    # two searches, not one pattern for both orders: that one takes minutes for 80,000 letters without a space
    return bool(_DIGIT.search(token) and _LETTER.search(token))


def _forms(number: str, parts: bool) -> set[str]:
    """Return a number without separators, so that 652,000 is found as 652000; a list of numbers one by one."""
    split = re.split("[.,]", number)
    joined = {"".join(split)} if len(split) <= 2 or all(len(part) == 3 for part in split[1:]) else set(split)
    return joined | set(split) if parts else joined


def _holding(terms: Sequence[_Terms], exact: frozenset[str], words: frozenset[str]) -> set[int]:
    """Return the places of the pieces that hold these numbers, identifiers and words."""
    places: dict[str, list[int]] = {}
    for place, held in enumerate(terms):
        for term in (held.exact & exact) | (held.words & words):
            places.setdefault(term, []).append(place)
    weight = Counter(place for found in places.values() for place in found)
    return {
        place
        for found in places.values()
        for place in sorted(found, key=lambda place: (-weight[place], place))[:_PIECES_A_TERM]
    }


def _pieces(text: str) -> list[str]:
    return [part for piece in _SENTENCE_END.split(text.strip()) if piece for part in _slices(piece)]


def _slices(piece: str) -> Iterator[str]:
    start = 0
    while len(piece) - start > _PIECE_CHARS:
        end = _boundary(piece, start)
        yield piece[start:end]
        start = end
    if start < len(piece):
        yield piece[start:]


def _boundary(text: str, start: int) -> int:
    """Return the place to cut a piece off: in no word, number or identifier, if need be after a comma or further on."""
    limit = start + _PIECE_CHARS
    window = range(limit, limit - _PIECE_CHARS // 2, -1)
    for end in window:
        if not (_IN_A_TOKEN.match(text[end - 1]) and _IN_A_TOKEN.match(text[end])):
            return end
    comma = next((end for end in window if text[end - 1] == ","), 0)
    if comma:
        return comma
    after = _NOT_IN_A_TOKEN.search(text, limit)
    return after.start() if after else len(text)


def _begin(text: str, limit: int) -> str:
    """Return the beginning of a text without half a number: `1234567` must not be read as 123."""
    if len(text) <= limit:
        return text
    end = next((end for end in range(limit, 0, -1) if not _IN_A_TOKEN.match(text[end])), 0)
    return f"{text[:end].rstrip()}…"


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
        short = digest(goal, steps, raw.start, left * _CHARS_PER_TOKEN - len(_FORM))
        compressed = Compressed(
            text=_FORM.format(steps=short.text), steps=raw.start, raw_from=str(raw.message.id), cut=short.cut
        )
    return WorkingMemory(goal=goal, steps=steps, compressed=compressed)


def with_compressed_steps(
    messages: Sequence[BaseMessage], notes: WorkingMemory | None, max_tokens: int | None = None
) -> list[BaseMessage]:
    """Return the messages for the prompt, with the notes in place of the older steps of this turn.

    The notes stand at the end of the user's message: every provider and template takes that, calls and results stay
    paired, roles alternate as before, and the messages before it stay the same.
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


def _is_step(message: BaseMessage) -> bool:
    if isinstance(message, AIMessage):
        return bool(message.tool_calls or message.invalid_tool_calls)
    return isinstance(message, ToolMessage)


def with_note(asked: BaseMessage, notes: str) -> BaseMessage:
    """Return a message of the user with notes at its end."""
    content = asked.content
    whole = f"{content}\n\n{notes}" if isinstance(content, str) else [*content, {"type": "text", "text": notes}]
    return asked.model_copy(update={"content": whole})
