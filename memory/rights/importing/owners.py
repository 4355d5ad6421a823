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

    def check(self, named: Collection[str], *, personal: bool) -> ImportOwners:
        """Return the choice for a source that names these owners.

        Args:
            named: The owners, without the empty one.
            personal: Whether the source is one person's.

        Raises:
            ValueError: If everything is to be one user's, and the source names several.
        """
        if self.user and len(named) > 1:
            shown = ", ".join(repr(name)[:60] for name in sorted(named)[:_SHOWN])
            more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
            raise ValueError(
                f"it has the memories of {len(named)} owners ({shown}{more}), which cannot all be one user's: say "
                "whose is whose (react-mem import --map NAME=USER, more than once), or leave --user out there, and "
                "each keeps their own"
            )
        if not self.user and not self.mapped and personal and len(named) == 1 and self.nobodys:
            return ImportOwners(user=self.nobodys)
        return self

    def of(self, named: str) -> str:
        """Return who an owner of the source is here; empty where nobody is."""
        if self.user:
            return self.user
        if self.mapped:
            return self.mapped.get(named, "")
        return named or self.nobodys


def why_no_owner(user_id: str) -> str:
    """Return why a name cannot be an owner's; empty where it can."""
    if not user_id:
        return "belongs to nobody who was named"
    if len(user_id) > MAX_USER or not user_id.isprintable():
        return f"names an owner who is not 1 to {MAX_USER} printable characters"
    return ""
