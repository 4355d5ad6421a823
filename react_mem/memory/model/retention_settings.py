"""Settings of retention, and legal holds."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from react_mem.memory.model.records import now

FOREVER = "forever"

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365)}
_AGE = re.compile(r"([1-9][0-9]{0,5})([hdwy])")
_LONGEST = timedelta(days=365 * 1000)


def _as_age(value: Any) -> str:
    # YAML reads a key without a value as None
    text = "" if value is None else value
    if isinstance(text, str) and (text in ("", FOREVER) or _parsed(text) is not None):
        return text
    raise ValueError(
        f"{value!r:.40} is no time: give hours, days, weeks or years, such as 12h, 30d, 8w or 2y, or `{FOREVER}`"
    )


def _parsed(text: str) -> timedelta | None:
    found = _AGE.fullmatch(text)
    if found is None:
        return None
    age = int(found[1]) * _UNITS[found[2]]
    return age if age <= _LONGEST else None


Age = Annotated[str, BeforeValidator(_as_age)]  # age as written in a file: a number and a unit


class RetentionSettings(BaseModel, extra="forbid", frozen=True):
    """Retention of what an agent has noted: the `retention:` block of an agent's `memory:`.

    A scope that has no time of its own goes with what it came from, as what is forgotten does. One that has is judged
    by its own age alone.

    >>> kept = RetentionSettings(dialog="30d", semantic="forever")
    >>> kept.age("dialog"), kept.age("semantic"), kept.has("semantic"), kept.has("episodic")
    (datetime.timedelta(days=30), None, True, False)
    """

    dialog: Age = Field("", description="Messages and summaries, since they were said; a thread, since it went quiet.")
    semantic: Age = Field("", description="Facts, since they were last said; knowledge and documents.")
    episodic: Age = Field("", description="Episodes.")
    procedural: Age = Field("", description="Skills.")
    profile: Age = Field("", description="Each value of the profile, since it was last said.")
    experience: Age = Field("", description="The steps of the agent, and what became of its turns.")
    files: Age = Field("", description="Files that agents keep, since they were last written.")
    state: Age = Field("", description="Tasks, since they were last worked on, and the states of flows.")
    max_memories: int | None = Field(
        None,
        ge=1,
        description="Records of a user, at most. Beyond it, those go that were said or stood in a prompt longest ago.",
    )
    max_bytes: int | None = Field(
        None, ge=1000, description="Bytes of these records as JSON, without attachments, at most; likewise."
    )

    def age(self, scope: str) -> timedelta | None:
        """Return the maximum age of a scope's records; None for no limit."""
        return _parsed(self._written(scope))

    def has(self, scope: str) -> bool:
        """Return true if a scope has a time of its own, `forever` included, which then alone decides."""
        return bool(self._written(scope))

    def _written(self, scope: str) -> str:
        written = getattr(self, scope, "") if scope in type(self).model_fields else ""
        return written if isinstance(written, str) else ""

    @property
    def shortest(self) -> timedelta | None:
        """Shortest time of all scopes; None where no scope has any."""
        return min(filter(None, map(self.age, type(self).model_fields)), default=None)

    @property
    def limits(self) -> bool:
        """True if records are ever removed."""
        return self.shortest is not None or self.max_memories is not None or self.max_bytes is not None


# The legal hold of a user or of one conversation: as long as it is there, nothing of it is removed.

MAX_REFERENCE = 100  # characters of a hold's name: the number of a case, and no content


def _one_line(reference: str) -> str:
    if not reference.isprintable() or reference != reference.strip():
        raise ValueError("is not one line of printable characters; give the number of the case, such as case-2026-17")
    return reference


class LegalHold(BaseModel, extra="ignore", frozen=True):
    """Order to keep memories, as of a court or an authority; without a conversation all of the user's.

    The reference, such as the number of a case, is stored in plain, and shown to users whom it stops.
    """

    kind: Literal["hold"] = "hold"
    reference: Annotated[str, AfterValidator(_one_line)] = Field(min_length=1, max_length=MAX_REFERENCE)
    session_id: str = ""
    set_at: datetime = Field(default_factory=now)

    def in_short(self) -> str:
        """Return the hold in words: "... is under the legal hold 'case-17' since 2026-03-01"."""
        what = "a conversation of this user is" if self.session_id else "all of this user's memory is"
        return f"{what} under the legal hold {self.reference!r} since {self.set_at.date()}"
