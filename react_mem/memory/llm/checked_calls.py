"""Type checks at the public calls: a wrong object is refused there, by an error of ours.

Without them a string in place of an object fails deep inside, as a missing attribute of `str`.
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
    """Return a decorator that refuses arguments of other types than annotated.

    Args:
        cures: Advice for an argument, where its type alone is not enough; empty where the call gives better advice.
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
    """Apply `checked` to the constructor and every asynchronous public method of a class."""
    for name, member in [*vars(of).items()]:
        is_call = inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)
        if (name == "__init__" or (is_call and not name.startswith("_"))) and not hasattr(member, "__wrapped__"):
            setattr(of, name, checked()(member))
    return of


def _ours(error: ValueError | TypeError) -> Exception:
    """Return a refusal by our code as an error of ours; any other, which may quote content, unchanged."""
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
    """Return a predicate for each argument of a function that tests a value for its annotated type."""
    try:
        hints = get_type_hints(inspect.unwrap(function))
    except NameError:
        # an application's own class, whose types are there for its type checker alone
        return {}
    return {name: test for name, hint in hints.items() if name != "return" and (test := _test(hint))}


def _test(hint: Any) -> _Test | None:
    """Return a predicate for values of a type, duck types included; None where no test can tell."""
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
