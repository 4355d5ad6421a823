"""The ReAct text form: reading what a model wrote in it, whole or while it is still being written.

    Thought: ...
    Action: tool name
    Args: {json}

    Thought: ...
    Final Answer: ...

Models decorate it (`**Action:**`, `### Final Answer`), say `Action Input`, fence their JSON, go on after it and make up
observations; all of that is read as what was meant. What cannot be read is an error in words, never an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from react_mem.memory.runtime import first_value

FINAL = "Final Answer:"
STOP = "\nObservation:"
"""Stop sequence: what follows is for the tool to say."""

_LABEL = re.compile(
    r"""^[ \t>]*(?:[-*][ \t]+)?(?P<heading>\#+[ \t]*)?(?P<mark>[*_]{0,3})
        (?P<name>Thought|Action\ Input|Action|Args|Observation|Final\ Answer)
        (?:[ \t]*:[ \t]*(?P=mark)|(?P=mark)[ \t]*:|[ \t]*(?P<open>:)|(?P=mark)[ \t]*(?P<bare>$))[ \t]*""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_TOOL_NAME = re.compile(
    r"""[`"'\[(*]*(?P<name>[\w./-]+)[`"'\])*]*[ \t,]*(?:(?:args|action\ input|input)[ \t]*:[ \t]*)?[`(]*(?P<rest>.*)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_NO_ACTION = re.compile(r"(?:none|null|n/a|no action)\b", re.IGNORECASE)
_LATE_ACTION = re.compile(r"\n[ \t>#*_-]*Action[ \t*_]*:", re.IGNORECASE)
_MAYBE_LATE_ACTION = re.compile(r"\n[ \t>#*_-]*(?:A(?:c(?:t(?:i(?:o(?:n[ \t*_]*)?)?)?)?)?)?\Z", re.IGNORECASE)
_THINKING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_MARKUP = " \t\r\n*_:"
"""Characters after a label that may still turn out to be part of it."""


@dataclass(frozen=True)
class Reply:
    """Parsed text of a model: an answer, an action, or an error.

    Args:
        thought: Its reasoning.
        answer: The final answer, or None.
        action: The tool it names, or None.
        args: The tool's arguments, when they were a JSON object.
        error: Why the text is not one of the two forms; empty when it is.
        raw_args: The arguments as written.
    """

    thought: str = ""
    answer: str | None = None
    action: str | None = None
    args: dict[str, Any] | None = None
    error: str = ""
    raw_args: str = ""


def parse_reply(text: str, tools: Collection[str] = ()) -> Reply:
    """Read a model's text.

    The first action counts; what a model makes up after it does not. Text without any label is an answer: a model
    that ignores the form has still answered. An answer stays a string, even when it is JSON.

    Args:
        text: What the model wrote.
        tools: The tools there are: a call of one of them that follows a final answer is still to be made, and that
            answer a guess of its result. Anything else that looks like an action there is part of the answer.

    Returns:
        What it says.

    >>> parse_reply('Thought: add\\nAction: calculator\\nArgs: {"expression": "1+1"}').args
    {'expression': '1+1'}
    >>> parse_reply('Final Answer: {"a": 1}').answer
    '{"a": 1}'
    """
    text = _THINKING.sub("", text, count=1)
    labels = [match for match in _LABEL.finditer(text) if _is_label(match)]
    names = [_name(label) for label in labels]
    bodies = [_body(text, labels, place) for place in range(len(labels))]
    thought = bodies[names.index("thought")] if "thought" in names else ""
    if not thought and labels:
        thought = text[: labels[0].start()].strip()
    for place, (name, body) in enumerate(zip(names, bodies, strict=True)):
        if name == "action" and body and not _NO_ACTION.match(body):
            return _read_action(thought, body, _args_of(names[place + 1 :], bodies[place + 1 :]))
        if name == "final answer":
            if call := _late_call(text, labels[place:], names[place:], bodies[place:], tools):
                return call
            return Reply(thought=thought, answer=_answer(text, labels[place]))
    if "args" in names:
        return Reply(thought=thought, error="Args without an Action", raw_args=bodies[names.index("args")])
    if labels:
        return Reply(thought=thought, error="a Thought without an Action or a Final Answer")
    return Reply(answer=text.strip())


class AnswerStream:
    """The final answer out of a text that is still being written.

    What it yields, joined, is the beginning of what `parse_reply` reads from the whole text, however that was cut
    into pieces: nothing is shown that could still turn out to be a thought, an action or a made-up observation.
    """

    def __init__(self) -> None:
        self._text = ""
        self._answering = False
        self._begun = False
        self._over = False

    def feed(self, piece: str) -> str:
        """Return what the piece adds to what is surely final answer.

        Args:
            piece: The next part of the model's text.
        """
        if self._over:
            return ""
        self._text += piece
        if not self._answering and not self._find_answer():
            return ""
        kept, stop, _ = self._text.partition(STOP)
        late = _LATE_ACTION.search(kept)
        self._over = bool(stop or late)
        if late:
            kept = kept[: late.start()]
        elif not stop:
            # the end may become a label, or be white space that the whole answer is stripped of
            held = next((n for n in range(len(STOP) - 1, 0, -1) if kept.endswith(STOP[:n])), 0)
            kept = kept[: len(kept) - held]
            if maybe := _MAYBE_LATE_ACTION.search(kept):
                kept = kept[: maybe.start()]
        kept = kept.rstrip()
        self._text = self._text[len(kept) :]
        shown = kept if self._begun else kept.lstrip()
        self._begun = self._begun or bool(shown)
        return shown

    def _find_answer(self) -> bool:
        """Leave in the text what is not decided yet; return whether that is the answer's beginning."""
        stripped = self._text.lstrip()
        if "<think>".startswith(stripped[:7]) and "</think>" not in stripped:
            return False
        self._text = _THINKING.sub("", self._text, count=1)
        while True:
            line, newline, rest = self._text.partition("\n")
            label = _LABEL.match(line)
            name = _name(label) if label and _is_label(label) else ""
            if label and name == "final answer":
                rest = self._text[label.end() :]
                if not rest.strip(_MARKUP):
                    return False
                # the line break stays for now: only after it a label is one
                lead = "\n" if "\n" in rest[: len(rest) - len(rest.lstrip())] else ""
                self._text = lead + _open_mark(label) + rest.lstrip()
                self._answering = True
                return True
            if not newline:
                return False
            if label and name == "action" and not _NO_ACTION.match(line[label.end() :].strip()):
                self._over = True
                return False
            self._text = rest


def _is_label(match: re.Match[str]) -> bool:
    """Return whether a match is a label: without a colon only as a heading or in bold, on a line of its own."""
    return match["bare"] is None or bool(match["heading"] or match["mark"])


def _name(label: re.Match[str]) -> str:
    return label["name"].lower().replace("action input", "args")


def _body(text: str, labels: Sequence[re.Match[str]], place: int) -> str:
    end = labels[place + 1].start() if place + 1 < len(labels) else len(text)
    return text[labels[place].end() : end].strip()


def _answer(text: str, label: re.Match[str]) -> str:
    return (_open_mark(label) + text[label.end() :].lstrip()).split(STOP)[0].strip()


def _late_call(
    text: str, labels: Sequence[re.Match[str]], names: Sequence[str], bodies: Sequence[str], tools: Collection[str]
) -> Reply | None:
    """Return the call that follows a final answer, whose label is the first; None where none is meant."""
    for place in range(1, len(labels)):
        until = labels[place].start()
        if names[place] == "observation" or STOP in text[labels[0].end() : until]:
            return None
        if names[place] == "action" and bodies[place] and labels[place]["bare"] is None:
            thought = _answer(text[:until], labels[0])
            call = _read_action(thought, bodies[place], _args_of(names[place + 1 :], bodies[place + 1 :]))
            if call.action in tools and not call.error:
                return call
    return None


def _open_mark(label: re.Match[str]) -> str:
    """Return the markup that opened before the label and goes on after it: `**Final Answer: it is bold**`."""
    return str(label["mark"]) if label["open"] else ""


def _args_of(names: Sequence[str], bodies: Sequence[str]) -> str | None:
    """Return the arguments that belong to an action: the first before anything else is done."""
    for name, body in zip(names, bodies, strict=True):
        if name == "args":
            return body
        if name != "thought":
            return None
    return None


def _read_action(thought: str, written: str, raw: str | None) -> Reply:
    if habit := re.match(r"[\W_]*final answer\b[\W_]*", written, re.IGNORECASE):
        # from another form of the loop: the answer as the argument of an action of this name
        return Reply(thought=thought, answer=raw if raw is not None else written[habit.end() :])
    name, _, rest = written.partition("\n")
    match = _TOOL_NAME.fullmatch(written)
    if match and (not match["rest"] or match["rest"][0] in "{)"):
        # name {"a": 1}, name({"a": 1}) and name() too
        name, rest = match["name"], match["rest"].removeprefix(")")
    name = name.strip(" \t\r`\"'[]()*")
    if not name:
        return Reply(thought=thought, error="an Action without a tool's name", raw_args=raw or "")
    if raw is None:
        raw = rest.strip() if rest.lstrip("` \t\r\n").startswith("{") else ""
    bare = re.sub(r"^`+\w*\s*", "", raw)
    if not bare:
        return Reply(thought=thought, action=name, args={})
    try:
        # A model may go on after its JSON; the first value counts.
        args = first_value(bare)
        json.dumps(args, ensure_ascii=False).encode()  # half a character cannot be sent or stored
    except (ValueError, RecursionError) as error:
        return Reply(thought=thought, action=name, raw_args=raw, error=f"Args is not JSON: {error}"[:200])
    if not isinstance(args, dict):
        return Reply(thought=thought, action=name, raw_args=raw, error="Args is not a JSON object")
    return Reply(thought=thought, action=name, args=args)
