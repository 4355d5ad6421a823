"""Causes of errors for logs, events and records, without secrets or content; and type checks at public calls."""

from __future__ import annotations

import dis
import inspect
import os
import re
import traceback
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, wraps
from http import HTTPStatus
from itertools import chain
from numbers import Integral, Real
from types import TracebackType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

import psycopg
from pydantic import ValidationError

from react_mem.errors import InvalidArgument, ReactMemError, WrongType
from react_mem.memory.language.secrets import masked, secrets_in

# Secrets in a text: what looks like a key, a token or a password. Logs leave them out, and an audit counts them.

HIDDEN = "[hidden]"
_MIN_SECRET = 6  # local servers take "none" for a key, and that is a word

_NAMED = (
    r"(?:[\w-]{0,40}?(?:api[-_ ]?key|passw(?:or)?d|passphrase|token|secret"
    r"|(?:secret|private|signing)[-_ ]?(?:access[-_ ]?)?key)|pwd|authorization)"
)
"""The name of a setting or a field that holds a secret, in any spelling of identifiers."""


_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # to the last @ before the path: a password that is not percent-encoded may hold one
        (r"://[^/\s]*@", f"://{HIDDEN}@"),
        (r"(?<=\?)[^\s'\"]*=[^\s'\"]*", HIDDEN),
        (r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+", rf"\1 {HIDDEN}"),
        (rf"(?i)\b({_NAMED}['\"]?\s*(?:[:=]|provided:?|is)\s*['\"]?)(?!\[hidden\])[^\s'\",;}}]+", rf"\1{HIDDEN}"),
        # providers repeat a refused key in part: the rest of it is not for logs either
        (r"\b(?:sk|pk|rk|gsk|xai|key|token)-[^\s'\",}]{4,}", HIDDEN),
        (r"\b(?:sk|pk|rk|gsk|hf|gh[pousr]|github_pat|xox[a-z]|npm|key)_[\w*.-]{4,}", HIDDEN),
        (r"\b(?:xox[a-z]|xapp|glpat|gldt|glrt|glptt|glcbt|glft|glimt|glsoat|gloas|pypi)-[\w*.-]{8,}", HIDDEN),
        (r"\b(?:AKIA|ASIA|AIza|eyJ)[\w*.-]{8,}", HIDDEN),
        (r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24,}\b", HIDDEN),
    )
)
_NAME = re.compile(_NAMED, re.IGNORECASE)


def without_secrets(text: str, secrets: Sequence[str] = ()) -> str:
    r"""Return a text with `[hidden]` in place of key-like texts, of `secrets` and of the environment's secrets.

    >>> without_secrets("401 at https://ann:pw@host/v1\nBearer xyz")
    '401 at https://[hidden]@host/v1\nBearer [hidden]'
    >>> without_secrets("Mein Passwort ist hunter2secret"), without_secrets("密码：hunter2secret")
    ('Mein Passwort ist [hidden]', '密码：[hidden]')
    """
    for value in secrets_of_the_environment() + [one for one in secrets if len(one) >= _MIN_SECRET]:
        text = text.replace(value, HIDDEN)
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return masked(text, mark=HIDDEN)


def secrets_of_the_environment() -> list[str]:
    """Return the values of environment variables named as secrets."""
    found = [value for name, value in os.environ.items() if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name)]
    return [value for value in found if len(value) >= 8]


_SAYING = re.compile(r"[^\W_]{4}")  # part of a value that may be a secret: not a mask of signs
_ID = re.compile(r"[0-9a-fA-F-]{16,}|[\w:/-]*[0-9a-f]{24,}[\w:/-]*")
"""An id, a hash or a UUID, which looks like a key and is none."""


def secret_finder() -> Callable[[str, str], bool]:
    """Return a predicate of a field's name and text that detects secrets by form, name or environment.

    >>> finds = secret_finder()
    >>> finds("client_secret", "hunter2!"), finds("apiKey", "hunter2!"), finds("max_tokens", "hunter2!")
    (True, True, False)
    >>> finds("text", "I live in Hue")
    False
    """
    known = secrets_of_the_environment()

    def finds(name: str, text: str) -> bool:
        if _NAME.fullmatch(name) and text != HIDDEN and _SAYING.search(text):
            return True
        if _ID.fullmatch(text):
            return False
        text = unicodedata.normalize("NFKC", text)
        hidden = (pattern.sub(replacement, text) for pattern, replacement in _SECRETS)
        return any(one in text for one in known) or any(one != text for one in hidden) or bool(secrets_in(text))

    return finds


_MAX_CHARS = 300
_MAX_CHAIN = 4

_OURS = frozenset({__name__.partition(".")[0], "memory", "tools", "agents", "graphs"})
_OF_THE_NETWORK = frozenset({"aiohttp", "anyio", "httpcore", "httpx", "requests", "urllib3", "websockets"})
_NAMES_OBJECTS = ("28", "3D", "3F", "42501", "42703", "42883", "42P01")
"""SQLSTATEs, or prefixes of them, whose messages quote names of users, databases, tables, columns and functions."""

_PLACE = re.compile(
    r"\b[a-z][a-z0-9+.-]*://[^\s'\",;)\]]*[^\s'\",;)\].?]|(?<![\w./~-])~?/[\w@+.-]+(?:/[\w@+.-]*)+\b"
    r"|\b[A-Za-z]:\\[^\s'\",;)]+|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b(?:localhost|(?:[\w-]+\.)+[A-Za-z][\w-]*):\d{2,5}\b"
)
"""A host with or without its port, an address, or the path of a file."""

# a value may hold quotation marks itself
_QUOTED = re.compile(r"(?s)\".*\"|(?<!\w)'.*'|\".*|(?<!\w)'.*|`.*`|[«“].*")
_QUOTED_BRIEFLY = re.compile(r"\"[^\"]*\"?")
_RAISE = dis.opmap["RAISE_VARARGS"]


def cause_of(error: BaseException) -> str:
    """Return an error in one line, type and message; instead of an unsafe message the place where it was raised.

    >>> cause_of(ConnectionError("no route to host")), cause_of(TimeoutError())
    ('ConnectionError: no route to host', 'TimeoutError')
    >>> cause_of(ValueError("could not convert string to float: 'my salary is 5,000'"))
    'ValueError'
    """
    name = type(error).__name__
    said = _told_of_causes(error)
    if said:
        return f"{name}: {said}"
    caused = _why(error)
    if caused:
        return f"{name}: {caused}"
    place = _last(error.__traceback__) if str(error) else None
    return name if place is None else f"{name}, raised in {_module(place)}, line {place.tb_lineno}"


def cause_for_clients(error: BaseException) -> str:
    """Return the cause of an error in a line that the clients of a server may see."""
    return cause_of(for_clients(error) if isinstance(error, ReactMemError) else error)


def trace_of(error: BaseException) -> str:
    """Return the stack of an error, a line of code each, without its message."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()


def scrub(said: BaseException | str, secrets: Sequence[str] = ()) -> str:
    """Return an error's text, or a text, on one bounded line, without keys, `secrets` and the environment's secrets.

    For texts without content and statements, such as a wrong setting; otherwise `cause_of`.

    >>> scrub(ValueError("no answer from https://ann:pw@host/v1, Bearer xyz"))
    'no answer from https://[hidden]@host/v1, Bearer [hidden]'
    """
    # beyond this it is cut anyway, and what is cut off need not be read
    text = without_secrets(" ".join(str(said)[: 20 * _MAX_CHARS].split()), secrets)
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"


def for_clients(error: ReactMemError) -> ReactMemError:
    """Return an error for the clients of a server: without secrets, hosts and files; itself where it holds none.

    >>> for_clients(ReactMemError("no answer from http://model.internal:8080/v1, see /srv/log/model.txt"))
    ReactMemError('no answer from [hidden], see [hidden]')
    >>> from react_mem.errors import DatabaseUnavailable
    >>> type(for_clients(DatabaseUnavailable("no answer from db.internal"))).__name__
    'DatabaseUnavailable'
    """
    own = str(error)
    said = error.for_clients or without_secrets(_PLACE.sub(HIDDEN, own))
    if said == own:
        return error
    # not by its constructor, which may take something else than a message
    told = type(error).__new__(type(error), said)
    told.__dict__.update(vars(error))
    return told


def unquoted(text: str) -> str:
    """Return a text without its quotations, which may be content.

    >>> unquoted("invalid input: 'my diary', see the manual")
    "invalid input: '…', see the manual"
    """
    return _QUOTED.sub("'…'", text)


def _told_of_causes(error: BaseException) -> str:
    """Return the safe part of an error's message; empty for none."""
    if isinstance(error, psycopg.Error):
        return _of_the_database(error)
    if is_ours(error):
        return scrub(error)
    if isinstance(error, ValidationError):
        kinds = ", ".join(sorted({str(one["type"]) for one in error.errors(include_input=False, include_url=False)}))
        return scrub(f"{error.error_count()} fields of {error.title} are wrong ({kinds})")
    status = _status(error)
    if status:
        return status
    if isinstance(error, OSError | ImportError) or _root(type(error).__module__) in _OF_THE_NETWORK:
        return scrub(unquoted(str(error)))
    return ""


def _why(error: BaseException) -> str:
    """Return the cause behind an error: client libraries wrap the network's errors."""
    link = error.__cause__
    for _ in range(_MAX_CHAIN):
        if link is None:
            return ""
        if said := _told_of_causes(link):
            return f"{type(link).__name__}: {said}"
        link = link.__cause__ or link.__context__
    return ""


def _of_the_database(error: psycopg.Error) -> str:
    state = error.sqlstate or ""
    # of a failed connection there is only the text of the client library
    text = (error.diag.message_primary or "") if state else str(error)
    if not state and isinstance(error, psycopg.OperationalError):
        # that of a connection: hosts and users, and between them why it failed
        text = _QUOTED_BRIEFLY.sub("'…'", text)
    elif not state.startswith(_NAMES_OBJECTS):
        text = unquoted(text)
    return scrub(f"{state} {text}".strip())


def _status(error: BaseException) -> str:
    """Return the status of an HTTP error by its codes: its words may repeat the request or the key."""
    response = getattr(error, "response", None)
    found = (getattr(error, "status_code", None), getattr(response, "status_code", None), getattr(error, "code", None))
    status = next((int(code) for code in found if isinstance(code, int) and 300 <= code < 600), None)
    if status is None:
        return ""
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "HTTP status"
    if status == HTTPStatus.UNAUTHORIZED:
        phrase += ", authentication failed"
    code = getattr(error, "code", None)
    named = f" ({code})" if isinstance(code, str) and re.fullmatch(r"[a-z][a-z_]{2,40}", code) else ""
    return f"{status} {phrase}{named}"


def is_ours(error: BaseException) -> bool:
    """Return true for an error of this project: one of its types, or a built-in error that its code raises."""
    if _root(type(error).__module__) in _OURS:
        return True
    place = _last(error.__traceback__)
    if place is None or type(error).__module__ != "builtins" or _root(_module(place)) not in _OURS:
        return False
    # not what a function without Python code raised, such as `int`: that quotes what it was given
    return place.tb_frame.f_code.co_code[place.tb_lasti] == _RAISE


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _module(place: TracebackType) -> str:
    return str(place.tb_frame.f_globals.get("__name__", "?"))


def _root(module: str) -> str:
    return module.partition(".")[0]


# Type checks at the public calls: a wrong object is refused there, by an error of ours.

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
