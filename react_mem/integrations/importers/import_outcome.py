"""Outcome of an import: how many entries became memories, which were there, and why the rest became none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from react_mem.integrations.importers.source_updates import SETTLED

_EXAMPLES = 3
"""Places that are named of those with the same reason."""


@dataclass
class ImportOutcome:
    """Outcome of an import, or of one that wrote nothing.

    Args:
        dry_run: Whether nothing was written.
        added: Memories that are new, by owner.
        known: Entries that say what is remembered already, by owner: imported before, or known in the same words.
        kinds: Memories that are new, by kind.
        skipped: Entries that became no memory, by the reason.
        places: Some of their places, by the reason.
        undated: Entries whose own time cannot be: they are dated as what stands beside it, or with the import.
        unnoted: Entries that became memories without what their source keeps beside them, which is too large.
        to_read: Turns that were queued for a worker to draw facts from.
        updated: Memories that were imported before and say by now what their source says, by owner.
        same: Of the known entries, those that were not imported before: another one says the same, or what is
            remembered from elsewhere does.
        own: Records of an export that are new and no memories: memory keeps them for itself.
    """

    dry_run: bool = False
    added: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    undated: int = 0
    to_read: int = 0
    updated: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    own: int = 0
    unnoted: int = 0

    @property
    def owners(self) -> list[str]:
        """The owners of what was imported, or was there."""
        return sorted({*self.added, *self.updated, *self.known})

    @property
    def is_nothing(self) -> bool:
        """Tell whether all of it was skipped, and not because of what the user did with it since."""
        is_any = self.added.total() + self.updated.total() + self.known.total() + self.own
        return not is_any and bool(self.skipped.keys() - SETTLED)

    def skip(self, place: str, reason: str) -> None:
        """Count what became no memory.

        Args:
            place: Where it stands.
            reason: Why.
        """
        self.skipped[reason] += 1
        named = self.places.setdefault(reason, [])
        if len(named) < _EXAMPLES:
            named.append(place)

    def skipped_in_words(self) -> list[str]:
        """Return why entries became no memory, and where the first of each kind stand."""
        said = []
        for reason, count in self.skipped.most_common():
            places = self.places.get(reason, [])
            said.append(f"{count} skipped: {reason} ({', '.join(places)}{', ...' if count > len(places) else ''})")
        return said

    def unnoted_in_words(self) -> str:
        """Return how many memories came without what stood beside them, and why."""
        return (
            f"{self.unnoted} {'is' if self.unnoted == 1 else 'are'} kept without what the source has beside the memory "
            f"(`meta`, `metadata`): more than 4,000 bytes, or what is no JSON, is not kept"
        )

    def to_data(self) -> dict[str, Any]:
        """Return the outcome as JSON has it."""
        return {
            "dry_run": self.dry_run,
            "added": self.added.total(),
            "updated": self.updated.total(),
            "known": self.known.total(),
            "same": self.same.total(),
            "own_records": self.own,
            "kinds": dict(sorted(self.kinds.items())),
            "skipped": [
                {"reason": reason, "count": count, "such_as": self.places.get(reason, [])}
                for reason, count in self.skipped.most_common()
            ],
            "owners": {
                owner: {"added": self.added[owner], "updated": self.updated[owner], "known": self.known[owner]}
                for owner in self.owners
            },
            "undated": self.undated,
            "unnoted": self.unnoted,
            "to_read": self.to_read,
        }
