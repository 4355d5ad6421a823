"""Updates at the source: what an import wrote says something else there by now, under the same id.

What the source says now takes the place of what it said, as long as nobody has said or done anything about it here
since. Pure functions: what is stored comes in, what is to be stored goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from react_mem.memory import Fact, Message, Origin, Record
from react_mem.memory.records import revived, succeeded

FORGOTTEN = "was imported before, and has been forgotten since"
KEPT = "says something else at its source by now; what was corrected or said again here, or is over, stays as it is"
OLDER = "is an older version of what was imported of it"
SAID = "says something else here or at its source by now; a message stays as it was imported"

_WORDS = ("text", "title", "steps", "outcome")
"""Fields of documents and episodes that say something."""

SETTLED = frozenset({FORGOTTEN, KEPT, OLDER, SAID})
"""Reasons for which an entry is left as it is here: nothing is wrong with it, or with the import."""


@dataclass(frozen=True)
class SourceUpdate:
    """Decision about an entry that was imported before.

    Args:
        writes: The records to write.
        replaced: A record to remove: what takes its place is of another kind.
        refused: Why nothing is written, though it says something else; empty where it says what is here.
    """

    writes: Sequence[Record] = ()
    replaced: Record | None = None
    refused: str = ""


KNOWN = SourceUpdate()
"""Outcome of an entry that says what is here."""


def is_of(before: Record, record: Record) -> bool:
    """Return whether a record was imported from the entry that another one is made of."""
    return entry_of(before) == entry_of(record)


def entry_of(record: Record) -> tuple[Any, ...]:
    """Return what the entry that a record was imported from is known by."""
    return (record.meta.get("source"), record.meta.get("id"), record.session_id)


def says_the_same(before: Record, record: Record) -> bool:
    """Return whether a record has the words of another one of its id; of facts and messages the id itself tells it."""
    return isinstance(before, Fact | Message) or words_of(before) == words_of(record)


def words_of(record: Record) -> tuple[Any, ...]:
    """Return what a record says, by the fields of documents and episodes."""
    return tuple(getattr(record, name, None) for name in _WORDS)


def of_same_words(
    before: Record, record: Record, stored: Mapping[str, Fact], *, dated: bool, at: datetime
) -> SourceUpdate:
    """Return what becomes of an entry whose words were imported from it before: it may be over there, or be said again.

    Args:
        before: What is here.
        record: What it is now.
        stored: The facts that may have to do with it, by id.
        dated: Whether the source says when it was said.
        at: Now.
    """
    if isinstance(before, Message) and isinstance(record, Message):
        return KNOWN if before.content == record.content else SourceUpdate(refused=SAID)
    if not isinstance(before, Fact) or not isinstance(record, Fact) or record.said_at < before.said_at:
        return KNOWN
    if before.current:
        times = ("current", "valid_from", "valid_to", "retired_at")
        says = {name: getattr(record, name) for name in times}
        if says == {name: getattr(before, name) for name in times}:
            return KNOWN
        if is_touched(before):
            return SourceUpdate(refused=KEPT)
        if not record.current:
            says["retired_at"] = record.retired_at or at
        return SourceUpdate([before.model_copy(update={**says, "said_at": record.said_at})])
    heir = stored.get(before.superseded_by or "")
    # without a date of its own nobody can tell which of the two it says now
    if heir is None or not heir.current or not record.current or not dated or record.said_at <= heir.said_at:
        return KNOWN
    if is_touched(heir) or not is_of(heir, record):
        return KNOWN
    again = before.model_copy(update={**revived(before, at), "said_at": record.said_at, "valid_to": record.valid_to})
    return SourceUpdate(succeeded(stored, heir, again, record.said_at, at))


def of_other_words(
    priors: Sequence[Record], record: Record, known: Record | None, stored: Mapping[str, Fact], *, at: datetime
) -> SourceUpdate:
    """Return what becomes of an entry whose words were not imported from it before.

    Args:
        priors: What was imported from it.
        record: What it is now.
        known: What says so here already, from wherever it came.
        stored: The facts that may have to do with it, by id.
        at: Now.
    """
    if not priors:
        return KNOWN if known is not None else SourceUpdate(refused=FORGOTTEN)
    believed = [prior for prior in priors if not isinstance(prior, Fact) or prior.current]
    if not believed:
        # whoever ended it: what took its place may have been forgotten
        return KNOWN if known is not None else SourceUpdate(refused=KEPT)
    prior = max(believed, key=_said_at)
    if isinstance(known, Fact) and not known.current:
        # it was said to be over, or never so
        return KNOWN
    if is_touched(prior):
        return SourceUpdate(refused=KEPT)
    if _said_at(record) < _said_at(prior):
        return SourceUpdate(refused=OLDER)
    new = record if known is None else known
    if isinstance(prior, Fact):
        later = isinstance(record, Fact) and record.said_at > prior.said_at
        return SourceUpdate(_superseded(prior, new, stored, _said_at(record) if later else at, at))
    if known is not None or prior.kind != record.kind:
        return SourceUpdate([] if known is not None else [record], replaced=prior)
    # under the id that it has, by which others may refer to it
    changed = record.model_copy(update={"id": prior.id})
    return KNOWN if says_the_same(prior, changed) else SourceUpdate([changed])


def _superseded(prior: Fact, new: Record, stored: Mapping[str, Fact], since: datetime, at: datetime) -> list[Record]:
    """Return the writes by which something takes the place of a fact."""
    if isinstance(new, Fact):
        return [*succeeded(stored, prior, new, since, at)]
    return [new, *succeeded(stored, prior, None, since, at)]


def is_touched(record: Record) -> bool:
    """Return whether anybody has said or done anything about a record since it was imported."""
    if record.origin is not Origin.IMPORT:
        return True
    return isinstance(record, Fact) and bool(record.source_ids or record.wordings or record.withdrawn)


def _said_at(record: Record) -> datetime:
    return record.said_at if isinstance(record, Fact) else record.created_at
