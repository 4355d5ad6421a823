"""Calls from outside: a wrong object is refused where it is given, and what is refused is an error of ours.

Without it a string where an object belongs fails deep inside, as an attribute that `str` does not have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, wraps
from itertools import chain
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from react_mem.errors import InvalidArgument, ReactMemError, WrongType
from react_mem.memory.llm.causes import is_ours

_Call = TypeVar("_Call", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)
_Test = Callable[[Any], bool]

# as numpy's are
_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}
_NO_LIST = (str, bytes, Mapping)


def checked(**cures: str) -> Callable[[_Call], _Call]:
    """Return what makes a function refuse arguments that are not of their annotated types.

    Args:
        cures: What to give in place of an argument, where its type alone does not tell; empty where the
            call itself tells more.
    """

    def decorate(function: _Call) -> _Call:
        names = [*inspect.signature(function).parameters]

        def check(args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
            fits = _tests(function)
            for name, value in chain(zip(names, args, strict=False), named.items()):
                if name in fits and cures.get(name) != "" and not fits[name](value):
                    cure = cures.get(name) or f"give {_in_words(inspect.unwrap(function), name)}"
                    raise WrongType(f"{name} is a {type(value).__name__}; {cure}")

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
        if (name == "__init__" or (is_call and not name.startswith("_"))) and not hasattr(member, "__wrapped__"):
            setattr(of, name, checked()(member))
    return of


def _ours(error: ValueError | TypeError) -> Exception:
    """Return a refusal that our code wrote as an error of ours; any other, which may quote content, as it is."""
    if isinstance(error, ReactMemError) or type(error) not in (ValueError, TypeError) or not is_ours(error):
        return error
    kind = WrongType if isinstance(error, TypeError) else InvalidArgument
    return kind(*error.args).with_traceback(error.__traceback__)


def _in_words(function: Callable[..., Any], name: str) -> str:
    hint = get_type_hints(function)[name]
    # others are named as the signature has them
    return " or ".join(map(repr, get_args(hint))) if get_origin(hint) is Literal else function.__annotations__[name]


@cache
def _tests(function: Callable[..., Any]) -> dict[str, _Test]:
    """Return what tells, by the names of a function's arguments, whether a value is of the annotated type."""
    try:
        hints = get_type_hints(inspect.unwrap(function))
    except NameError:
        # an application's own class, whose types are there for its type checker alone
        return {}
    return {name: test for name, hint in hints.items() if name != "return" and (test := _test(hint))}


def _test(hint: Any) -> _Test | None:
    """Return what tells whether a value is of a type; None where that cannot be told. It takes what is used alike."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    inner = [_test(part) for part in parts]
    if kind in (Union, UnionType):
        return (lambda value: any(test(value) for test in inner if test)) if all(inner) else None
    if kind is Literal:
        return lambda value: any(isinstance(value, type(part)) and value == part for part in parts)
    if hint is Any or not isinstance(kind, type) or kind is object or getattr(kind, "_is_protocol", False):
        return None
    if issubclass(kind, Enum):
        # its value does as well
        return lambda value: isinstance(value, kind) or value in [one.value for one in kind]
    if kind is dict or is_typeddict(kind):
        kind = Mapping
    if kind is Mapping and parts and (of_value := inner[1]):
        return lambda value: isinstance(value, Mapping) and all(map(of_value, value.values()))
    if kind in (Sequence, Collection, list):
        one = (inner or [None])[0] or (lambda _: True)
        return lambda value: isinstance(value, Collection) and not isinstance(value, _NO_LIST) and all(map(one, value))
    if kind in _NUMBERS:
        kind = _NUMBERS[kind]
    if issubclass(kind, Iterable) and not issubclass(kind, str | bytes):
        return lambda value: isinstance(value, kind) and not isinstance(value, str | bytes)
    return lambda value: isinstance(value, kind)
