"""Proposed changes -> writes: the same fact is one fact, a changed fact supersedes the old one, which stays as history.

Pure functions: what is stored already comes in, what is to be stored goes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory.extraction import Operation
from memory.records import Fact


def fact_id(operation: Operation) -> str:
    """Return the id of the fact that an operation states."""
    return Fact.identity(operation.subject, operation.predicate, operation.object)


def touched_ids(operations: Iterable[Operation]) -> list[str]:
    """Return the ids of every fact that applying these operations may read or change."""
    ids: list[str] = []
    for operation in operations:
        if operation.op != "retract":
            ids.append(fact_id(operation))
        if operation.target_id:
            ids.append(operation.target_id)
    return list(dict.fromkeys(ids))


def reconcile(
    operations: Sequence[Operation],
    stored: Mapping[str, Fact],
    *,
    at: datetime,
    session_id: str,
    agent_id: str,
) -> list[Fact]:
    """Return the facts to write.

    Applying the same operations to the result changes nothing.

    Args:
        operations: Checked operations, in order.
        stored: The facts with `touched_ids(operations)` that exist.
        at: When they are applied.
        session_id: The conversation they come from.
        agent_id: The agent that heard them.

    Returns:
        Every fact that is new or has changed, each once.
    """
    facts = dict(stored)
    changed: dict[str, Fact] = {}

    def keep(fact: Fact) -> None:
        if facts.get(fact.id) != fact:
            facts[fact.id] = changed[fact.id] = fact

    for operation in operations:
        old = facts.get(operation.target_id) if operation.target_id else None
        if operation.op == "retract":
            if old is not None and old.current:
                keep(retire(old, at))
            continue
        id_ = fact_id(operation)
        known = facts.get(id_)
        if known is not None:
            keep(_seen_again(known, operation.source_ids))
        else:
            keep(
                Fact(
                    id=id_,
                    text=operation.text,
                    subject=operation.subject,
                    predicate=operation.predicate,
                    object=operation.object,
                    created_at=at,
                    session_id=session_id,
                    agent_id=agent_id,
                    source_ids=tuple(operation.source_ids),
                    support=max(1, len(set(operation.source_ids))),
                )
            )
        if operation.op == "update" and old is not None and old.id != id_ and old.current:
            keep(retire(old, at, superseded_by=id_))
    return list(changed.values())


def retire(fact: Fact, at: datetime, superseded_by: str | None = None) -> Fact:
    """Return a fact as dated history: no longer believed, no longer true."""
    return fact.model_copy(
        update={"current": False, "retired_at": at, "valid_to": fact.valid_to or at, "superseded_by": superseded_by}
    )


def _seen_again(fact: Fact, source_ids: Sequence[str]) -> Fact:
    """Return a known fact with one more source; one that was retired is believed again when it is said anew."""
    sources = tuple(dict.fromkeys([*fact.source_ids, *source_ids]))
    if sources == fact.source_ids:
        return fact
    revived = {"current": True, "retired_at": None, "valid_to": None, "superseded_by": None}
    return fact.model_copy(update={"source_ids": sources, "support": len(sources), **({} if fact.current else revived)})
