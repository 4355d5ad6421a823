"""Tools by name: the built-in ones, and the user's own by dotted path."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import json
import math
import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langchain_core.tools.base import create_schema_from_function
from langgraph.prebuilt import ToolRuntime

from react_mem.errors import ToolConfigError
from react_mem.memory import MemoryPolicy


class GovernedTool(StructuredTool):
    """A tool with the agent's memory policy in every call, hidden from the model: at first the defaults."""

    policy: MemoryPolicy = MemoryPolicy.model_validate({})

    async def _arun(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        # last, so that no argument of a model's makes its way past it
        return await super()._arun(*args, config=config, **{**kwargs, "policy": self.policy})


def governed(function: Callable[..., Awaitable[Any]], *, artifact: bool = False) -> GovernedTool:
    """Make a tool of an async function with a `policy`; a model sees its other parameters and its docstring.

    With `artifact` it returns its text with an artifact, which no model sees and memory never stores.
    """
    schema = create_schema_from_function(function.__name__, function, filter_args=["access", "policy"])
    return GovernedTool.from_function(  # type: ignore[return-value]
        coroutine=function, args_schema=schema, response_format="content_and_artifact" if artifact else "content"
    )


def under_policy(tool: BaseTool, policy: MemoryPolicy) -> BaseTool:
    """Return a tool under an agent's policy; a tool without a policy unchanged."""
    return tool.model_copy(update={"policy": policy}) if isinstance(tool, GovernedTool) else tool


def valid_names(name: str, valid: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """Return the valid names and the nearest one to `name`, as the end of an error message.

    Args:
        elsewhere: Names that are valid in another place, by place: for such a name, or where no valid one is near.

    >>> valid_names("calculater", ["calculator", "current_time"])
    "valid: calculator, current_time; did you mean 'calculator'?"
    >>> valid_names("calculater", ["chat"], {"calculator": "tools.calculator"})
    "valid: chat; did you mean 'tools.calculator'?"
    >>> valid_names("slm_model", ["models"], {"slm_model": "memory.web.slm_model"})
    "valid: models; did you mean 'memory.web.slm_model'?"
    >>> valid_names("zzz", [])
    'valid: none'
    """
    known, elsewhere = sorted(valid), elsewhere or {}
    told = f"valid: {', '.join(known) or 'none'}"
    given = {one: place for one, place in elsewhere.items() if one == name}
    for names in (given, {one: one for one in known}, elsewhere):
        folded = {one.casefold(): place for one, place in names.items()}
        if near := difflib.get_close_matches(name.casefold(), folded, n=1):
            return f"{told}; did you mean {folded[near[0]]!r}?"
    return told


BUILT_IN: dict[str, str] = {
    "calculator": "react_mem.tools.registry:calculator",
    "compress_working_memory": "react_mem.tools.registry:compress_working_memory",
    "current_time": "react_mem.tools.registry:current_time",
    "end_conversation": "react_mem.tools.registry:end_conversation",
    "forget": "react_mem.tools.memory_tools:forget",
    "recall_episodes": "react_mem.tools.memory_tools:recall_episodes",
    "recall_step": "react_mem.tools.registry:recall_step",
    "record_episode": "react_mem.tools.memory_tools:record_episode",
    "retrieve_facts": "react_mem.tools.memory_tools:retrieve_facts",
    "store_fact": "react_mem.tools.memory_tools:store_fact",
    "unfold_summary": "react_mem.tools.memory_tools:unfold_summary",
    "web_search": "react_mem.tools.web.search:web_search",
}
""""module:attribute" by name; a module is imported at the first use of its tool, so that an extra stays optional."""


def check_tool_name(name: str) -> None:
    """Check a name without importing anything; ToolConfigError if neither built-in nor "package.module:function"."""
    if ":" in name or "." in name:
        module, attribute = _split(name)
        if not all(part.isidentifier() for part in (*module.split("."), attribute)):
            raise ToolConfigError(f"tool {name!r} is not a dotted path; write 'package.module:function'")
    elif name not in BUILT_IN:
        raise ToolConfigError(
            f"unknown tool {name!r}; a tool of your own is written 'package.module:function'; "
            f"{valid_names(name, BUILT_IN)}"
        )


def load_tools(names: Sequence[str], policy: MemoryPolicy | None = None) -> list[BaseTool]:
    """Load tools by name, in the order of the names. Blocking: it imports modules.

    A user's own tool is a LangChain tool, or a function with type annotations and a docstring, sync or async.

    Args:
        names: Built-in names or dotted paths ("package.module:function", or with '.' for ':').
        policy: The agent's policy for memory and web search; None for the defaults.

    Raises:
        ToolConfigError: If a tool cannot be found, imported or called, or two tools have one name.

    >>> [tool.name for tool in load_tools(["calculator"])]
    ['calculator']
    """
    loaded: dict[str, tuple[str, BaseTool]] = {}
    for name in names:
        check_tool_name(name)
        found = _load(name, BUILT_IN.get(name, name))
        if found.name in loaded:
            raise ToolConfigError(
                f"tools {loaded[found.name][0]!r} and {name!r} are both called {found.name!r}; "
                "a model tells tools apart by name: remove or rename one"
            )
        loaded[found.name] = name, found if policy is None else under_policy(found, policy)
    return [tool for _, tool in loaded.values()]


def _split(path: str) -> tuple[str, str]:
    module, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    return module, attribute


def _load(name: str, path: str) -> BaseTool:
    module_name, attribute = _split(path)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        # Only the tool's own path is a wrong name; anything else is an import that fails inside the module.
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            raise ToolConfigError(
                f"tool {name!r}: there is no module {missing!r}; install its package or put its folder on "
                f"PYTHONPATH ({valid_names(name, BUILT_IN)})"
            ) from error
        raise ToolConfigError(f"tool {name!r}: importing {module_name!r} failed: {_cause(error)}") from error
    try:
        found = getattr(module, attribute)
    except AttributeError as error:
        public = [
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and (isinstance(value, BaseTool) or inspect.isroutine(value))
        ]
        raise ToolConfigError(
            f"tool {name!r}: module {module_name!r} has no {attribute!r}; {valid_names(attribute, public)}"
        ) from error
    return _as_tool(name, found)


def _as_tool(name: str, found: Any) -> BaseTool:
    if isinstance(found, BaseTool):
        return found
    if not inspect.isroutine(found):
        raise ToolConfigError(
            f"tool {name!r} is a {type(found).__name__ if not inspect.isclass(found) else 'class'}, "
            "not a LangChain tool or a function"
        )
    try:
        return tool(found)
    except Exception as error:
        raise ToolConfigError(
            f"tool {name!r} cannot be offered to a model: {_cause(error)}; "
            "give the function type annotations and a docstring"
        ) from error


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# Tools without memory: arithmetic, the time, the end of a conversation, and an agent's working memory.

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
