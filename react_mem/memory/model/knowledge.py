"""Knowledge: generalisations over many facts and episodes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from react_mem.memory.model.records import Record

Form = Literal["pattern", "rule", "preference", "generalisation"]

MIN_SOURCES = 2
"""Fewer say nothing beyond themselves."""


class Reference(BaseModel, extra="forbid", frozen=True):
    """A summary of a conversation in which this was said; the meta graph links with it.

    Args:
        to: The summary.
        kind: The kind of the link.
    """

    to: str
    kind: Literal["summarization"] = "summarization"


class Knowledge(Record):
    """Something that holds across memories, found like a fact, and shown as what it is.

    It is not history: when what it stands on has changed, it is drawn again or dropped, and its sources have theirs.

    Args:
        form: A pattern (what keeps happening), a rule (what to do), a preference or a generalisation.
        about: Whom or what it is about, in one form.
        proofs: How many memories say so: its sources.
        confidence: 0 to 1: how often what was seen speaks for it, counting one for and one against beforehand.
        made_by: `rules`, where it was counted; else the model that worded it.
        links: The summaries of the conversations that it comes from.
        current: As with a fact, so that one filter finds both.
    """

    kind: Literal["knowledge"] = "knowledge"
    form: Form
    about: str
    proofs: int = Field(ge=MIN_SOURCES)
    confidence: float = Field(ge=0, le=1)
    made_by: str
    links: tuple[Reference, ...] = ()
    current: Literal[True] = True


def confidence(proofs: int, against: int) -> float:
    """Return how likely something is that was seen so often, and the opposite so often.

    >>> confidence(3, 0), confidence(3, 3)
    (0.8, 0.5)
    """
    return (proofs + 1) / (proofs + against + 2)
