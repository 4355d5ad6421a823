"""Calls from outside: a wrong object is refused where it is given, and what is refused is an error of ours.

Without it a string where an object belongs fails deep inside, as an attribute that `str` does not have.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, wraps
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from react_mem.errors import InvalidArgument, ReactMemError, WrongType
from react_mem.memory.llm.causes import is_ours

_Call = TypeVar("_Call", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


def checked(**cures: str) -> Callable[[_Call], _Call]:
    """Return what makes a function refuse arguments that are not of their annotated types.

    Args:
        cures: What to give in place of an argument, where its type alone does not tell.
    """

    def decorate(function: _Call) -> _Call:
        signature = inspect.signature(function)

        def check(args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
            hints = _hints(function)
            for name, value in signature.bind(*args, **named).arguments.items():
                given = signature.parameters[name]
                if name not in hints or given.kind is given.VAR_KEYWORD:
                    continue
                for one in value if given.kind is given.VAR_POSITIONAL else [value]:
                    if not _fits(one, hints[name]):
                        cure = cures.get(name) or f"give {_in_words(hints[name])}"
                        raise WrongType(f"{name} of {function.__name__} is no {type(one).__name__}; {cure}")

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            check(args, named)
            try:
                return function(*args, **named)
            except (ValueError, TypeError) as error:
                raise _ours(error) from error.__cause__

        @wraps(function)
        async def call_later(*args: Any, **named: Any) -> Any:
            check(args, named)
            try:
                return await function(*args, **named)
            except (ValueError, TypeError) as error:
                raise _ours(error) from error.__cause__

        return cast(_Call, call_later if inspect.iscoroutinefunction(function) else call)

    return decorate


def checked_calls(of: _Class) -> _Class:
    """Have every asynchronous call of a class, and its making, refuse wrong objects."""
    for name, member in [*vars(of).items()]:
        is_call = inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)
        if name == "__init__" or (is_call and not name.startswith("_")):
            setattr(of, name, checked()(member))
    return of


def _ours(error: ValueError | TypeError) -> Exception:
    """Return a refusal that our code wrote as an error of ours; any other, which may quote content, as it is."""
    if isinstance(error, ReactMemError) or type(error) not in (ValueError, TypeError) or not is_ours(error):
        return error
    kind = WrongType if isinstance(error, TypeError) else InvalidArgument
    return kind(*error.args).with_traceback(error.__traceback__)


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(inspect.unwrap(function), include_extras=False)


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type, as far as that can be told."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if kind is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if hint is None:
        return value is None
    if hint is Any or not isinstance(kind, type) or kind is object or getattr(kind, "_is_protocol", False):
        return True
    if issubclass(kind, Enum):
        # its value does as well
        return isinstance(value, kind) or value in [one.value for one in kind]
    if kind is float:
        return isinstance(value, int | float)
    if isinstance(value, str | bytes) and not issubclass(kind, str | bytes) and issubclass(kind, Iterable):
        return False
    if not isinstance(value, kind):
        return False
    inner: Any = value
    if kind is Mapping and parts:
        return all(_fits(one, parts[1]) for one in inner.values())
    return not (kind is Sequence and parts) or all(_fits(one, parts[0]) for one in inner)


def _in_words(hint: Any) -> str:
    """Return a type as a reader writes it.

    >>> _in_words(str | None), _in_words(Sequence[int]), _in_words(Literal["a"])
    ('str or None', 'Sequence of int', "'a'")
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(map(_in_words, parts))
    if kind is Literal:
        return " or ".join(map(repr, parts))
    name = "None" if kind is type(None) else getattr(kind, "__name__", str(kind))
    return f"{name} of {_in_words(parts[0])}" if kind in (Sequence, Iterable, AsyncIterable, list) and parts else name
