"""Arithmetic, without running code."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from langchain_core.tools import ToolException, tool

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
# People's signs for the parser's ones.
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})


@tool
def calculator(expression: str) -> str:
    """Calculate what the user asks to have calculated: numbers with + - * / // % ** and parentheses.

    Args:
        expression: The expression.
    """
    try:
        return _written(_value(_parsed(expression)))
    except ZeroDivisionError:
        raise ToolException("division by zero") from None
    except OverflowError:
        raise ToolException("the result is too large") from None
    except RecursionError:
        raise ToolException("the expression is nested too deeply") from None


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
    if (
        isinstance(base, int)
        and isinstance(exponent, int)
        and base.bit_length() * abs(exponent) > MAX_BITS + abs(exponent)
    ):
        raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ToolException("the root of a negative number is not a real number")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError
    if not isinstance(value, int) and not math.isfinite(value):
        raise OverflowError
    return value


def _written(value: Number) -> str:
    """Return a number as people write it.

    >>> _written(0.1 + 0.2), _written(6 / 2)
    ('0.3', '3')
    """
    # A double holds fifteen significant digits exactly.
    return str(value) if isinstance(value, int) else f"{value:.15g}"
