"""Facts as they were believed at a time: what is stored keeps since when each is believed, and until when."""

from __future__ import annotations

from datetime import datetime

from react_mem.memory.model.records import BELIEVED, Fact, with_zone


def as_of(fact: Fact, at: datetime) -> Fact | None:
    """Return a fact as it was believed at a time; None if it was not.

    Believed means written by then, and not retired: a turn that is read late teaches when it is read. What only an
    abandoned branch of a conversation said was believed until it was abandoned; while it is followed again, it counts
    as never abandoned. What has been forgotten since was never known.

    Its doubts are left out, as nobody noted since when it has them, and so is an end that nobody knew of.

    Args:
        fact: The fact as it is stored.
        at: The time; one with a zone.
    """
    if with_zone(fact.created_at) > at or any(lapse.since <= at < lapse.until for lapse in fact.lapses):
        return None
    if fact.current:
        ended = {}
    elif fact.retired_at is None or with_zone(fact.retired_at) <= at:
        # without a date it was said to be over from the beginning
        return None
    else:
        # of what something else took the place of later, its own last day was known
        own = {"valid_to": fact.valid_to} if fact.superseded_by and fact.end_said_at else {}
        ended = {**BELIEVED, **own}
    return fact.model_copy(
        update={
            **ended,
            "said_at": max((w.said_at for w in fact.wordings if w.said_at <= at), default=fact.created_at)
            if with_zone(fact.said_at) > at
            else fact.said_at,
            "wordings": tuple(wording for wording in fact.wordings if wording.said_at <= at),
            "lapses": tuple(lapse for lapse in fact.lapses if lapse.until <= at),
            "suspended": (),
            "doubts": (),
        }
    )
