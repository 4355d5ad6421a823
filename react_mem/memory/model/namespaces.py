"""Owner and scope -> the store's namespace. Every key the memory layer touches is built here.

Layout: `("memory", <user>, <scope>)`; turns that are still to be extracted: `("memory", <user>, "pending")`; what was
set aside with a branch of a conversation: `("memory", <user>, "abandoned", <scope>)`; what there is to do behind the
turns: `("memory_work", <user>)`, apart from memory, because workers search it across owners; what is attached to
messages: `("memory_attachments", <user>, ...)`, apart too, because whoever reads all memories wants no images.

The database keeps every row by its owner: see `owner_of`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import yaml
from langchain_core.messages import BaseMessage

from react_mem.memory.model.interface import MemoryScope

ROOT = "memory"
PENDING = "pending"
META = "meta"
LINKS = "links"
"""Namespace of links before they were derived from the records."""
ABANDONED = "abandoned"
TERMINAL = "terminal"
WORK = "memory_work"
ATTACHMENTS = "memory_attachments"

_OWNED = (ROOT, WORK, TERMINAL, ATTACHMENTS)

Namespace = tuple[str, ...]


def encode(part: str) -> str:
    """Return a label that a LangGraph namespace accepts and that decodes to exactly `part`.

    The stores join labels with '.', so it and everything else outside letters, digits, '-', '_' and '~' is
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
    """Return what `encode` was given."""
    return unquote(label, errors="strict")


def owner_of(namespace: Namespace) -> str:
    """Return whom a namespace belongs to, as the database's function `memory_owner` does.

    Of memory it is the user's label. An application's own namespaces belong to their first two labels, with a dot,
    which no label holds, so that it is nobody's memory.

    >>> owner_of(("memory", "ann%40x", "semantic")), owner_of(("users", "ann", "notes")), owner_of(("notes",))
    ('ann%40x', 'users.ann', 'notes.')
    """
    return owner_of_path(".".join(namespace))


def owner_of_path(path: str) -> str:
    """Return whom a namespace belongs to whose labels are joined by dots."""
    first, dot, rest = path.partition(".")
    second = rest.partition(".")[0]
    return second if dot and first in _OWNED else f"{first}.{second}"


def owner_within(path: str) -> str | None:
    """Return to whom a namespace and all below it belong; None where there may be several.

    >>> owner_within("memory.ann"), owner_within("memory"), owner_within("")
    ('ann', None, None)
    """
    return owner_of_path(path) if "." in path else None


def owner_namespace(user_id: str) -> Namespace:
    """Return the prefix of everything that belongs to this user."""
    return (ROOT, encode(user_id))


def memory_namespace(user_id: str | None = None) -> Namespace:
    """Return the prefix of a user's memory; of everybody's where nobody is named."""
    return (ROOT,) if user_id is None else owner_namespace(user_id)


def scope_namespace(user_id: str, scope: MemoryScope) -> Namespace:
    """Return where one scope of one user lives."""
    return (*owner_namespace(user_id), str(scope))


def meta_namespace(user_id: str) -> Namespace:
    """Return where bookkeeping about a user's memory is kept."""
    return (*owner_namespace(user_id), META)


def abandoned_namespace(user_id: str, part: str = "") -> Namespace:
    """Return where records of branches that are no longer followed lie, out of the way of every read.

    Args:
        user_id: The owner.
        part: The scope that the records are from, or where turns wait; by default the prefix of all of them.
    """
    return (*owner_namespace(user_id), ABANDONED, *filter(None, [part]))


def terminal_namespace(user_id: str, *agent: str) -> Namespace:
    """Return where the terminal keeps which conversation a user left, below it one entry an agent."""
    return (TERMINAL, encode(user_id), *map(encode, agent))


def work_namespace(user_id: str) -> Namespace:
    """Return where the work behind a user's turns is kept."""
    return (WORK, encode(user_id))


def attachments_namespace(user_id: str, part: str = "") -> Namespace:
    """Return where what is attached to a user's messages is kept, or a part of what is kept of it."""
    return (ATTACHMENTS, encode(user_id), *filter(None, [part]))


def is_bookkeeping(namespace: Namespace) -> bool:
    """Return whether a namespace of memory holds what is looked up by its key, and nothing that is found by meaning.

    >>> [is_bookkeeping(of) for of in (meta_namespace("ann"), work_namespace("ann"), ("notes", "ann", "pending"))]
    [True, True, False]
    """
    if namespace[0] in (WORK, ATTACHMENTS):
        return True
    return namespace[0] == ROOT and len(namespace) == 3 and namespace[2] in (PENDING, META)


# Work over texts: done at once where they are short, in a thread where an event loop would notice.

Result = TypeVar("Result")

_SHORT = 50_000
"""Characters: to count and to cut them takes a millisecond or two; to hand them to a thread and to be woken by it takes
about as long, and several times that where many do."""

_A_MESSAGE = 20
"""Characters that a message is taken for beside what it says: a long thread is gone through, however little is said."""


async def off_loop(characters: int, work: Callable[[], Result]) -> Result:
    """Return what work comes to, done in a thread if it is about a lot of text.

    Args:
        characters: How many it is about.
        work: What is to be done.
    """
    return work() if characters <= _SHORT else await asyncio.to_thread(work)


def characters_of(messages: Sequence[BaseMessage]) -> int:
    """Return about how many characters messages have.

    Args:
        messages: The messages.
    """
    return sum(map(_characters, messages))


def _characters(message: BaseMessage) -> int:
    if isinstance(message.content, str):
        return len(message.content) + _A_MESSAGE
    texts = (block if isinstance(block, str) else str(block.get("text", "")) for block in message.content)
    return sum(map(len, texts)) + _A_MESSAGE


# YAML that others have written, read within bounds.

MAX_NODES = 20_000
"""Values of a text, those of an alias counted each time that it stands there."""


MAX_DEPTH = 50
"""Lists and mappings within each other: what is nested by thousands takes PyYAML seconds to look at."""


class BoundedLoader(yaml.SafeLoader):
    """The safe loader, but nothing is nested deeper than `MAX_DEPTH`."""

    def fetch_flow_collection_start(self, token_class: Any) -> None:
        """Begin a list or a mapping in brackets."""
        self._check_depth()
        super().fetch_flow_collection_start(token_class)

    def add_indent(self, column: int) -> bool:
        """Begin one by indentation."""
        self._check_depth()
        added: bool = super().add_indent(column)
        return added

    def _check_depth(self) -> None:
        if self.flow_level + len(self.indents) >= MAX_DEPTH:
            raise yaml.YAMLError("it is nested too deeply")


def read_yaml(text: str, loader: type[BoundedLoader] = BoundedLoader) -> Any:
    """Return what a text of YAML says: plain values alone.

    Args:
        text: The text.
        loader: How values are made of it.

    Raises:
        yaml.YAMLError: If it is not valid, names no value such as the 32nd of May, is nested too deeply, or comes to
            too much by its aliases.

    >>> read_yaml("a: &steps [1, 2]\\nb: *steps")
    {'a': [1, 2], 'b': [1, 2]}
    """
    reading = loader(text)
    try:
        node = reading.get_single_node()
        if node is None:
            return None
        _weigh(node, {})
        return reading.construct_document(node)
    except (ValueError, OverflowError) as error:
        # a date or a number that there is not; its text is not repeated
        raise yaml.YAMLError(f"one of its values cannot be read ({type(error).__name__})") from None
    finally:
        reading.dispose()


def _weigh(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many values a node comes to.

    Raises:
        yaml.YAMLError: If they are too many, or it is a part of itself.
    """
    key = id(node)
    if key in known:
        if not known[key]:
            raise yaml.YAMLError("an alias names what it is a part of")
        return known[key]
    # not weighed yet: who meets it again below is in a circle
    known[key] = 0
    parts = node.value if isinstance(node, yaml.CollectionNode) else ()
    weight = 1
    for part in parts:
        weight += sum(_weigh(one, known) for one in (part if isinstance(part, tuple) else (part,)))
        if weight > MAX_NODES:
            raise yaml.YAMLError(f"it has more than {MAX_NODES} values, those of its aliases counted each time")
    known[key] = weight
    return weight
