"""Namespaces of owners and scopes. Every key that the memory layer touches is built here.

Layout: `("memory", <user>, <scope>)`; pending turns: `("memory", <user>, "pending")`; records set aside with a branch
of a conversation: `("memory", <user>, "abandoned", <scope>)`; background work: `("memory_work", <user>)`, apart from
memory, because workers search it across owners; attachments of messages: `("memory_attachments", <user>, ...)`, apart
too, because readers of all memories want no images.

The database stores every row by its owner: see `owner_of`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import yaml
from langchain_core.messages import BaseMessage

from react_mem.memory.model.interface import MemoryScope

ROOT = "memory"
PENDING = "pending"
META = "meta"
LINKS = "links"  # namespace of stored links, before they were derived from the records
ABANDONED = "abandoned"
TERMINAL = "terminal"
WORK = "memory_work"
ATTACHMENTS = "memory_attachments"
_OWNED = (ROOT, WORK, TERMINAL, ATTACHMENTS)

Namespace = tuple[str, ...]


def encode(part: str) -> str:
    """Return a label that a LangGraph namespace accepts and that decodes to exactly `part`.

    The stores join labels with '.', so that it and everything else outside letters, digits, '-', '_' and '~' is
    percent-encoded.

    Raises:
        ValueError: If `part` is empty: an empty owner would be everybody.

    >>> encode("ann@example.com")
    'ann%40example%2Ecom'
    >>> decode(encode("Trần Thị Ánh")) == "Trần Thị Ánh"
    True
    """
    if not part:
        raise ValueError("a namespace part must not be empty; pass a user id")
    try:
        return quote(part, safe="").replace(".", "%2E")
    except UnicodeEncodeError as error:
        raise ValueError(f"a namespace part must be valid Unicode text, got {part!r}") from error


def decode(label: str) -> str:
    """Return the text of an encoded label."""
    return unquote(label, errors="strict")


def owner_of(namespace: Namespace) -> str:
    """Return the owner of a namespace, as the database's function `memory_owner` does.

    In memory it is the user's label. An application's own namespaces belong to their first two labels, with a dot,
    which no label holds, so that it is nobody's memory.

    >>> owner_of(("memory", "ann%40x", "semantic")), owner_of(("users", "ann", "notes")), owner_of(("notes",))
    ('ann%40x', 'users.ann', 'notes.')
    """
    return owner_of_path(".".join(namespace))


def owner_of_path(path: str) -> str:
    """Return the owner of a namespace, given with its labels joined by dots."""
    first, dot, rest = path.partition(".")
    second = rest.partition(".")[0]
    return second if dot and first in _OWNED else f"{first}.{second}"


def owner_within(path: str) -> str | None:
    """Return the owner of a namespace and all below it; None where there may be several.

    >>> owner_within("memory.ann"), owner_within("memory"), owner_within("")
    ('ann', None, None)
    """
    return owner_of_path(path) if "." in path else None


def owner_namespace(user_id: str) -> Namespace:
    """Return the prefix of a user's memory."""
    return (ROOT, encode(user_id))


def memory_namespace(user_id: str | None = None) -> Namespace:
    """Return the prefix of a user's memory, or of everybody's."""
    return (ROOT,) if user_id is None else owner_namespace(user_id)


def scope_namespace(user_id: str, scope: MemoryScope) -> Namespace:
    """Return the namespace of a user's scope."""
    return (*owner_namespace(user_id), str(scope))


def meta_namespace(user_id: str) -> Namespace:
    """Return the namespace of the bookkeeping about a user's memory."""
    return (*owner_namespace(user_id), META)


def abandoned_namespace(user_id: str, part: str = "") -> Namespace:
    """Return the namespace of a user's records on abandoned branches, which no read covers: of a scope, or of all."""
    return (*owner_namespace(user_id), ABANDONED, *filter(None, [part]))


def terminal_namespace(user_id: str, *agent: str) -> Namespace:
    """Return where the terminal keeps which conversation a user left, below it one entry an agent."""
    return (TERMINAL, encode(user_id), *map(encode, agent))


def work_namespace(user_id: str) -> Namespace:
    """Return the namespace of a user's background work."""
    return (WORK, encode(user_id))


def attachments_namespace(user_id: str, part: str = "") -> Namespace:
    """Return the namespace of a user's attachments, or of a part of them."""
    return (ATTACHMENTS, encode(user_id), *filter(None, [part]))


def is_bookkeeping(namespace: Namespace) -> bool:
    """Return true if the items of a namespace are looked up by key and never found by meaning.

    >>> [is_bookkeeping(of) for of in (meta_namespace("ann"), work_namespace("ann"), ("notes", "ann", "pending"))]
    [True, True, False]
    """
    if namespace[0] in (WORK, ATTACHMENTS):
        return True
    return namespace[0] == ROOT and len(namespace) == 3 and namespace[2] in (PENDING, META)


# Work over texts: done at once where they are short, in a thread where an event loop would notice.

Result = TypeVar("Result")

_SHORT = 50_000
"""Characters: counting and cutting them takes a millisecond or two; the switch to a thread takes about as long, and
several times that under load.
"""

_A_MESSAGE = 20
"""Characters counted for a message beside its text: a long thread takes time however short its messages are."""

READING = 10
"""Weight of a character that is looked through for secrets."""


async def off_loop(characters: int, work: Callable[[], Result]) -> Result:
    """Run a function, in a thread if it works on a text of many characters, and return its result."""
    return work() if characters <= _SHORT else await asyncio.to_thread(work)


@contextmanager
def setting(variable: ContextVar[Result], value: Result) -> Iterator[None]:
    """Give a context variable a value within a block, and in tasks that start there."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def characters_of(messages: Sequence[BaseMessage]) -> int:
    """Return the approximate number of characters of messages."""
    return sum(len(message.text) + _A_MESSAGE for message in messages)


# YAML that others have written, read within bounds.

MAX_NODES = 20_000  # values of a YAML text, an alias counted at each use
MAX_DEPTH = 50  # nesting of lists and mappings: thousands of levels take PyYAML seconds


def read_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """Return the plain values of a YAML text, as the loader makes them.

    Raises:
        yaml.YAMLError: If it is not valid, names no value such as the 32nd of May, is nested too deeply, or has too
            many values after its aliases are expanded.

    >>> read_yaml("a: &steps [1, 2]\\nb: *steps")
    {'a': [1, 2], 'b': [1, 2]}
    """
    _check_bounds(text)
    try:
        return yaml.load(text, loader)  # noqa: S506 - a safe one
    except (ValueError, OverflowError) as error:
        # a date or a number that there is not; its text is not repeated
        raise yaml.YAMLError(f"one of its values cannot be read ({type(error).__name__})") from None


def _check_bounds(text: str) -> None:
    """Refuse a YAML text with too many values, aliases expanded, or too deep ones: `yaml.YAMLError`."""
    values = 0
    sizes: dict[str | None, int] = {}
    within: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = within.pop()
            sizes[anchor] = values - before
        elif isinstance(event, yaml.NodeEvent):
            is_alias = isinstance(event, yaml.AliasEvent)
            if is_alias and any(event.anchor == anchor for anchor, _ in within):
                raise yaml.YAMLError("an alias names what it is a part of")
            size = sizes.get(event.anchor, 1) if is_alias else 1
            if isinstance(event, yaml.CollectionStartEvent):
                within.append((event.anchor, values))
            elif not is_alias:
                sizes[event.anchor] = 1
            values += size
            if len(within) > MAX_DEPTH:
                raise yaml.YAMLError("it is nested too deeply")
            if values > MAX_NODES:
                raise yaml.YAMLError(f"it has more than {MAX_NODES} values, those of its aliases counted each time")
