"""Updates at the source: an entry that was imported before has other words there now, under the same id.

The new words replace the old ones, unless somebody has changed or repeated the memory here since. Pure functions from
stored records to records to write.
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
_WORDS = ("text", "title", "steps", "outcome")  # Fields of documents and episodes with words

# Reasons for leaving an entry as it is that are no fault of the import
SETTLED = frozenset({FORGOTTEN, KEPT, OLDER, SAID})


@dataclass(frozen=True)
class SourceUpdate:
    """Decision about an entry that was imported before: records to write, and a replaced record of another kind.

    `refused` is the reason for keeping other words than the source's; empty where the words agree.
    """

    writes: Sequence[Record] = ()
    replaced: Record | None = None
    refused: str = ""


KNOWN = SourceUpdate()  # Decision about an entry with the words that are stored


def entry_of(record: Record) -> tuple[Any, ...]:
    """Return the identity of the entry that a record was imported from."""
    return (record.meta.get("source"), record.meta.get("id"), record.session_id)


def says_the_same(before: Record, record: Record) -> bool:
    """Return true if two records of one id have the same words; the id of facts and messages implies it."""
    return isinstance(before, Fact | Message) or words_of(before) == words_of(record)


def words_of(record: Record) -> tuple[Any, ...]:
    """Return the words of a record, by the fields of documents and episodes."""
    return tuple(getattr(record, name, None) for name in _WORDS)


def of_same_words(
    before: Record, record: Record, stored: Mapping[str, Fact], *, dated: bool, at: datetime
) -> SourceUpdate:
    """Decide about an entry with the words of its last import: it may have ended there, or be stated again.

    `stored` are the facts that may be involved, by id; `dated` is true where the source dates the entry.
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
    if is_touched(heir) or entry_of(heir) != entry_of(record):
        return KNOWN
    again = before.model_copy(update={**revived(before, at), "said_at": record.said_at, "valid_to": record.valid_to})
    return SourceUpdate(succeeded(stored, heir, again, record.said_at, at))


def of_other_words(
    priors: Sequence[Record], record: Record, known: Record | None, stored: Mapping[str, Fact], *, at: datetime
) -> SourceUpdate:
    """Decide about an entry with other words than at its last import.

    `priors` are the records imported from it, `known` a stored record with the new words from anywhere.
    """
    if not priors:
        return KNOWN if known is not None else SourceUpdate(refused=FORGOTTEN)
    believed = [prior for prior in priors if not isinstance(prior, Fact) or prior.current]
    if not believed:
        # whoever ended it: its successor may have been forgotten
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
        since, heir = _said_at(record) if later else at, new if isinstance(new, Fact) else None
        return SourceUpdate([*([] if heir else [new]), *succeeded(stored, prior, heir, since, at)])
    if known is not None or prior.kind != record.kind:
        return SourceUpdate([] if known is not None else [record], replaced=prior)
    # under the id that it has, by which others may refer to it
    changed = record.model_copy(update={"id": prior.id})
    return KNOWN if says_the_same(prior, changed) else SourceUpdate([changed])


def is_touched(record: Record) -> bool:
    """Return true if a record was changed, confirmed or withdrawn here since its import."""
    if record.origin is not Origin.IMPORT:
        return True
    return isinstance(record, Fact) and bool(record.source_ids or record.wordings or record.withdrawn)


def _said_at(record: Record) -> datetime:
    return record.said_at if isinstance(record, Fact) else record.created_at
