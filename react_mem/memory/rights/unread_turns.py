"""Notes of imported turns for the worker, which extracts from them as from any pending turn; and batches of imports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.work.items import Work, put_work

_MAX_NOTE = 600
_CONTEXT = 2
"""Characters of a note, and messages of context before a turn, as of any pending turn."""


def turns_to_read(user_id: str, agent_id: str, messages: Sequence[Message]) -> list[Change]:
    """Return the writes that note turns for extraction by the worker of an agent.

    Args:
        user_id: The owner.
        agent_id: The agent that is to extract facts.
        messages: The messages, of any conversations; a turn begins with each message of the user.
    """
    sessions: dict[str, list[Message]] = {}
    for message in messages:
        sessions.setdefault(message.session_id, []).append(message)
    changes: list[Change] = []
    for session_id, said in sessions.items():
        said.sort(key=lambda message: message.turn)
        starts = [place for place, message in enumerate(said) if message.role == "user"]
        for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
            changes.append(put(user_id, _note(agent_id, said, start, end)))
        if starts:
            due = int(now().timestamp() * 1000)
            changes.append(put_work(user_id, Work(kind="extract", agent=agent_id, session=session_id, due_at=due)))
    return changes


def _note(agent_id: str, said: Sequence[Message], start: int, end: int) -> PendingTurn:
    ids = tuple(message.id for message in said[start:end])
    return PendingTurn(
        id=PENDING.id(*ids),
        text=said[start].text[:_MAX_NOTE],
        origin=said[start].origin,
        session_id=said[start].session_id,
        agent_id=agent_id,
        source_ids=ids,
        context_ids=tuple(message.id for message in said[max(0, start - _CONTEXT) : start]),
    )


# Portions of what is brought in: as much as one transaction takes, by number and by size.

Told = Callable[[int, int | None], None]
"""Progress callback: called with the entries done and their total, None where unknown."""

BATCH = 200
"""Entries of one transaction, at most."""

MAX_PORTION = 50_000
"""Characters of one transaction, which block the event loop for some 15 ms."""

Part = TypeVar("Part")


def nobody_listens(_done: int, _total: int | None) -> None:
    """Ignore the progress."""


def portions(
    parts: Iterable[Part], size: Callable[[Part], int], same: Callable[[Part], Hashable] | None = None
) -> Iterator[list[Part]]:
    """Yield batches of parts in order; a part above the limit is a batch of its own.

    Args:
        parts: The parts.
        size: Returns the characters of a part.
        same: Returns a key that no two parts of a batch may share; None for no such limit.

    >>> [*portions(["a" * 30_000, "b" * 30_000, "c"], len)] == [["a" * 30_000], ["b" * 30_000, "c"]]
    True
    >>> [*portions(["a", "b", "a"], len, str)]
    [['a', 'b'], ['a']]
    """
    portion: list[Part] = []
    chars = 0
    seen: set[Hashable] = set()
    for part in parts:
        more, name = size(part), same(part) if same else None
        if portion and (len(portion) == BATCH or chars + more > MAX_PORTION or name in seen):
            yield portion
            portion, chars = [], 0
            seen.clear()
        portion.append(part)
        chars += more
        if same:
            seen.add(name)
    if portion:
        yield portion
