"""Turns that were said elsewhere, noted for the worker, which draws facts from them as of any turn that waits."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.work.items import Work, put_work

_MAX_NOTE = 600
_CONTEXT = 2
"""Characters of a note, and messages before a turn that are read with it, as of any turn that waits."""


def turns_to_read(user_id: str, agent_id: str, messages: Sequence[Message]) -> list[Change]:
    """Return the writes by which the turns of messages are noted, and are read by the worker of an agent.

    Args:
        user_id: The owner.
        agent_id: The agent that is to draw facts from them.
        messages: The messages, of any conversations; a turn begins with each of the user's.
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
