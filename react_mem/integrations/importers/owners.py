"""Owners of what is imported: whom a source names, and who that is here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

MAX_USER = 512
"""Characters of a user's id, as a run's context takes it."""

_SHOWN = 5


@dataclass(frozen=True)
class ImportOwners:
    """Choice of the owners of an import.

    Args:
        user: The one owner of everything: for a source that names one owner, or none.
        mapped: Owners here, by the names that the source has for them; what is anybody else's stays out. The empty name
            stands for what the source says of nobody.
        nobodys: The owner of what the source says of nobody, where each keeps the owner that the source names.
    """

    user: str = ""
    mapped: Mapping[str, str] = field(default_factory=dict)
    nobodys: str = ""

    def check(self, named: Collection[str], *, personal: bool, nobody: Collection[str] = ()) -> ImportOwners:
        """Return the choice for a source that names these owners.

        Args:
            named: The owners, without the empty one.
            personal: Whether the source is one person's.
            nobody: Those among them who are no person.

        Raises:
            ValueError: If everything is to be one user's, and the source names several; or if nobody says whose it
                becomes what is no person's.
        """
        if self.user and len(named) > 1:
            raise ValueError(
                f"it has the memories of {len(named)} owners ({names_shown(named)}), which cannot all be one user's: "
                "say whose is whose (react-mem import --map NAME=USER, more than once), or leave --user out there, and "
                "each keeps their own"
            )
        if nobody and not self.user and not self.mapped:
            raise ValueError(
                f"it has memories of no user, but of {names_shown(nobody)}: say whose they become (react-mem import "
                "--map NAME=USER, more than once, and what is anybody else's stays out)"
            )
        if not self.user and not self.mapped and personal and len(named) == 1 and self.nobodys:
            return ImportOwners(user=self.nobodys)
        return self

    def of(self, named: str, also: str = "", *, elsewhere: bool = False) -> str:
        """Return who an owner of the source is here; empty where nobody is.

        Args:
            named: What the source calls them.
            also: What else it calls them.
            elsewhere: Whether they are somebody whom the source does not name here: nobody else's owner is theirs.
        """
        if self.user:
            return self.user
        if self.mapped:
            return self.mapped.get(named) or (self.mapped.get(also, "") if also else "")
        return named or ("" if elsewhere else self.nobodys)


def names_shown(named: Collection[str]) -> str:
    """Return some owners of a source as a message names them."""
    shown = ", ".join(repr(name)[:60] for name in sorted(named)[:_SHOWN])
    return shown + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")


OWNER_ELSEWHERE = (
    "is of a memory that is not in this import, which alone says whose it is; give the memories in the same import, or "
    "say whose it becomes (--user)"
)
"""Reason for which an entry becomes no memory whose owner only another one names."""


def why_no_owner(user_id: str) -> str:
    """Return why a name cannot be an owner's; empty where it can."""
    if not user_id:
        return "belongs to nobody who was named"
    if len(user_id) > MAX_USER or not user_id.isprintable():
        return f"names an owner who is not 1 to {MAX_USER} printable characters"
    return ""
