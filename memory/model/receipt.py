"""The receipt of something forgotten: what was removed, and what was read again afterwards."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from react_mem.memory.model.records import now

_READ_FROM_ROWS = frozenset({"arm", "arms", "cache", "caches", "export"})
"""First words of the checks of what is made of the rows, which the others look at themselves."""


class Check(BaseModel, extra="forbid", frozen=True):
    """One look at what could still have it.

    Args:
        name: Where was looked, such as `scope semantic`, `arm vector`, `cache last_known`, `export`.
        hits: How many records there are about it.
        ids: The first of them.
        problem: Why it could not be looked at; empty where it was.
    """

    name: str
    hits: int = 0
    ids: tuple[str, ...] = ()
    problem: str = ""


class Receipt(BaseModel, extra="forbid", frozen=True):
    """Receipt of what was forgotten, by ids and without a word of it, and of the checks afterwards.

    The thread keeps its messages: that of the conversation is the application's to delete.

    Args:
        at: When.
        removed: The ids of the records that are gone, by kind.
        rewritten: The ids of the records that stay, without it, by kind.
        messages: How many messages of the user's said it.
        checks: What was read again.
    """

    at: datetime = Field(default_factory=now)
    removed: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    rewritten: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    messages: int = 0
    checks: tuple[Check, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is left of it, or could not be looked at; empty where it is gone."""
        return tuple(
            f"{check.name}: {check.problem or f'{check.hits} left'}"
            for check in self.checks
            if check.problem or check.hits
        )

    @property
    def left(self) -> tuple[Check, ...]:
        """Return the checks that found something."""
        return tuple(check for check in self.checks if check.hits)

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """Return the checks that could not be made: they found nothing, and say nothing."""
        return tuple(check for check in self.checks if check.problem and not check.hits)

    @property
    def is_gone(self) -> bool:
        """True where the rows are gone: all of them were looked at, and no check found anything.

        A search, a cache or an export that could not be asked does not change that: it has no rows of its own.
        """
        missed = {check.name.split()[0] for check in self.unchecked}
        return not self.left and missed <= _READ_FROM_ROWS

    def in_short(self) -> str:
        """Return the receipt in a line, such as "2 removed, 1 rewritten; 17 checks, nothing left"."""
        gone, less = (sum(map(len, part.values())) for part in (self.removed, self.rewritten))
        left = "; ".join(f"{check.name}: {check.hits} left" for check in self.left) or "nothing left"
        told = f"{gone} removed, {less} rewritten; {len(self.checks) - len(self.unchecked)} checks, {left}"
        if not self.unchecked:
            return told
        missed = "; ".join(f"{check.name} ({check.problem})" for check in self.unchecked)
        rows = "The rows are gone. " if self.is_gone else ""
        return f"{told}. {rows}Not looked at: {missed}; ask again, and it is looked at again"
