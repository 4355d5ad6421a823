"""First reading of a source: whether it has anything to import, and whose that is, before any of it is written."""

from __future__ import annotations

from react_mem.integrations.importers.as_records import MAX_TEXT
from react_mem.integrations.importers.foreign_entry import Entries, ForeignEntry, NothingToImportError, UnusableEntry
from react_mem.integrations.importers.import_outcome import ImportOutcome
from react_mem.integrations.importers.owners import OWNER_ELSEWHERE, ImportOwners, names_shown


class FirstReading:
    """Contents of a source, as it is read through."""

    def __init__(self) -> None:
        self.total = 0
        self._named: set[tuple[str, str]] = set()
        self._nobody: set[str] = set()
        self._says_of_nobody = False
        self._is_elsewhere = False
        self._unusable = ImportOutcome()

    def take_in(self, batch: Entries) -> None:
        """Take in some entries."""
        self.total += len(batch)
        for entry in batch:
            if isinstance(entry, UnusableEntry):
                self._unusable.skip(entry.place, entry.reason)
            elif reason := why_unfit(entry):
                self._unusable.skip(entry.called, reason)
            elif entry.owner:
                self._named.add((entry.owner, entry.owner_also))
                if not entry.is_persons:
                    self._nobody.add(entry.owner)
            elif entry.owner_is_elsewhere:
                self._is_elsewhere = True
            else:
                self._says_of_nobody = True

    def owners(self, chosen: ImportOwners, *, personal: bool) -> ImportOwners:
        """Return whose everything becomes.

        Args:
            chosen: What was said of it.
            personal: Whether the source is one person's.

        Raises:
            ValueError: If nothing would become anybody's memory, or it cannot be told whose.
        """
        if not self.total:
            raise NothingToImportError("has nothing in it that could be imported")
        if not (self._named or self._says_of_nobody or self._is_elsewhere):
            raise NothingToImportError(
                f"none of it can become a memory: {'; '.join(self._unusable.skipped_in_words())}"
            )
        named = {name for name, _ in self._named}
        owners = chosen.check(named, personal=personal, nobody=self._nobody)
        is_anybodys = (
            (self._says_of_nobody and owners.of(""))
            or (self._is_elsewhere and owners.of("", elsewhere=True))
            or any(owners.of(*names) for names in self._named)
        )
        if not is_anybodys and self._is_elsewhere and not self._named and not self._says_of_nobody:
            raise ValueError(f"none of it can become a memory: each {OWNER_ELSEWHERE}")
        if not is_anybodys:
            whose = f"those of {names_shown(named)}" if named else "those of nobody, whom --map names as =USER"
            raise ValueError(f"none of its memories is anybody's who was named: they are {whose}")
        return owners


def why_unfit(entry: ForeignEntry) -> str:
    """Return why an entry becomes no memory, whosever it is; empty where it may."""
    if not entry.text.strip():
        return "says nothing"
    if len(entry.text) > MAX_TEXT:
        return f"has more than {MAX_TEXT:,} characters"
    return ""
