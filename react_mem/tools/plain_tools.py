"""Tools without memory: arithmetic, the time, the end of a conversation, and an agent's working memory."""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from langchain_core.tools import ToolException, tool
from langgraph.prebuilt import ToolRuntime

from react_mem.tools.registry import valid_names

Number = int | float

MAX_CHARS = 500
"""Longer than any sum of a person or model, and short enough for the parser's recursion."""

MAX_BITS = 4096
"""About 1,200 digits: a product or power below takes no noticeable time or memory."""

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FAILURES: dict[type[Exception], str] = {
    ZeroDivisionError: "division by zero",
    OverflowError: "the result is too large",
    RecursionError: "the expression is nested too deeply",
}
# People's signs for the parser's ones.
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})


@tool
def calculator(expression: str) -> str:
    """Calculate what the user asks to have calculated: numbers with + - * / // % ** and parentheses.

    Args:
        expression: The expression.
    """
    try:
        value = _value(_parsed(expression))
    except tuple(_FAILURES) as error:
        raise ToolException(_FAILURES[type(error)]) from None
    # a double holds fifteen significant digits exactly
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def _parsed(expression: str) -> ast.expr:
    if len(expression) > MAX_CHARS:
        raise ToolException(f"the expression has {len(expression)} characters; at most {MAX_CHARS} are allowed")
    try:
        return ast.parse(expression.translate(_SIGNS).strip().rstrip("=?").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolException(f"{expression!r} is not arithmetic; write something like (3 + 4) * 1.5") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left), _value(right)))
        case ast.Tuple():
            raise ToolException("numbers are written without thousands separators: 1000, not 1,000")
    raise ToolException(f"only numbers, + - * / // % ** and parentheses are allowed, not {ast.unparse(node)[:80]!r}")


def _power(base: Number, exponent: Number) -> Number:
    # Checked before it is computed: 9**9**9 would never end.
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and int(base).bit_length() * abs(exponent) > MAX_BITS + abs(exponent):
        raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ToolException("the root of a negative number is not a real number")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if value.bit_length() > MAX_BITS if isinstance(value, int) else not math.isfinite(value):
        raise OverflowError
    return value


@tool
def current_time(timezone: str = "UTC") -> str:
    """Return the current date, time and day of the week.

    Args:
        timezone: An IANA time zone, such as Asia/Ho_Chi_Minh or Europe/Paris.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ValueError, OSError, LookupError):
        # The list has hundreds of names: the nearest one says enough.
        _, semicolon, hint = valid_names(timezone[:100], available_timezones()).partition("; ")
        raise ToolException(
            f"unknown time zone {timezone[:100]!r}; use an IANA name such as Asia/Ho_Chi_Minh{semicolon}{hint}"
        ) from None
    return datetime.now(zone).strftime(f"%Y-%m-%d %H:%M:%S {timezone} (%A)")


@tool
def end_conversation() -> str:
    """End this conversation with this answer: when the user says goodbye, or what they came for is done.

    What the conversation came to is then remembered as a whole. The user can still go on with it.
    """
    # storing the turn with this step ends the conversation
    return "The conversation ends with this answer."


_WHOLE = "Nothing is compressed: every step stands in the conversation, whole."


@tool
def compress_working_memory(runtime: ToolRuntime[Any, Any]) -> str:
    """Shorten your older steps of this request to make room; the latest stay whole. Use it when results get long."""
    if _notes(runtime) is None:
        return _WHOLE
    return "Your older steps are now short notes, as far as there are any; the latest steps stay whole."


@tool
def recall_step(step: int, runtime: ToolRuntime[Any, Any]) -> str:
    """Return one of your earlier steps of this request whole: the call and all of its result.

    Args:
        step: The number of the step in the notes, from 1.
    """
    notes = _notes(runtime)
    if notes is None:
        return _WHOLE
    steps = notes["steps"]
    if not 1 <= step <= len(steps):
        raise ToolException(f"there is no step {step}; " + (f"give a number from 1 to {len(steps)}" if steps else ""))
    found = steps[step - 1]
    arguments = json.dumps(found["arguments"], ensure_ascii=False, default=str)
    thought = f"{found['thought']}\n" if found["thought"] else ""
    return f"{thought}{found['action']}({arguments})\n{found['error'] or found['observation']}"


def _notes(runtime: ToolRuntime[Any, Any]) -> dict[str, Any] | None:
    state = runtime.state
    notes: dict[str, Any] | None = state.get("working_memory") if isinstance(state, dict) else None
    return notes
