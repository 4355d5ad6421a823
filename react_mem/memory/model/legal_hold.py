"""The legal hold of a user or of one conversation: as long as it is there, nothing of it is removed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from react_mem.memory.model.records import now

MAX_REFERENCE = 100
"""Characters of the name of a hold: the number of a case, and no content."""


def _one_line(reference: str) -> str:
    if not reference.isprintable() or reference != reference.strip():
        raise ValueError("is not one line of printable characters; give the number of the case, such as case-2026-17")
    return reference


class LegalHold(BaseModel, extra="ignore", frozen=True):
    """Order to keep what is remembered, as a court or an authority may give it.

    Args:
        reference: What it is known by, such as the number of a case; stored in plain, and shown to whoever it stops.
        session_id: The conversation; empty for all of the user.
        set_at: Since when.
    """

    kind: Literal["hold"] = "hold"
    reference: Annotated[str, AfterValidator(_one_line)] = Field(min_length=1, max_length=MAX_REFERENCE)
    session_id: str = ""
    set_at: datetime = Field(default_factory=now)

    def in_short(self) -> str:
        """Return what is held, and by what: "... is under the legal hold 'case-17' since 2026-03-01"."""
        what = "a conversation of this user is" if self.session_id else "all of this user's memory is"
        return f"{what} under the legal hold {self.reference!r} since {self.set_at.date()}"
