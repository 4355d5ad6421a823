"""Coherence of a summary with its sources: names and numbers that it lost, and those that it invented."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from react_mem.memory.language.comparison import Vocabulary
from react_mem.memory.language.hallucination import Told, names, numbers, unknown_numbers, values
from react_mem.memory.summaries.sources import Source

_ROOM = 40
"""Characters that a summary needs for one name or number and what is said of it: what has no room is not missed."""


@dataclass(frozen=True)
class Coherence:
    """Comparison of a summary with its sources.

    Args:
        kept: How many of the sources' names and numbers it has.
        room: How many of them it has room for.
        lost: Those it does not have, in their order.
        invented: Names and numbers that it has and no source does.
    """

    kept: int
    room: int
    lost: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def quality(self) -> float:
        """The share that it kept of what it has room for, less the share of its own that it invented; from 0 to 1."""
        kept = min(self.kept / self.room, 1.0) if self.room else 1.0
        return max(0.0, kept - len(self.invented) / ((self.kept + len(self.invented)) or 1))

    @property
    def fails(self) -> bool:
        """Return whether to retry: it invents something, or has lost most of what it has room for."""
        return bool(self.invented) or self.kept * 2 < self.room


def compare(summary: str, sources: Sequence[Source], length: int, known: Sequence[Source] = ()) -> Coherence:
    """Compare a summary with its sources.

    Args:
        summary: The summary.
        sources: What it sums up.
        length: Characters that it may have.
        known: What else it may speak of, such as the summary before it.

    >>> from datetime import UTC, datetime
    >>> said = [Source("We meet Lan in Hue at 7:30.", datetime(2026, 11, 20, tzinfo=UTC), "user")]
    >>> found = compare("They meet Lan in Paris at 8:30.", said, 600)
    >>> found.lost, found.invented
    (('Hue', '7:30'), ('Paris', '8:30'))
    """
    around = Told([source.whole for source in (*sources, *known)], [source.at for source in sources])
    told = "\n".join(source.text for source in sources)
    named, written = names(told), numbers(told)
    said = Vocabulary([summary], names=True)
    lost = [name for name in named if said.missing(name)] + unknown_numbers(told, values(summary))
    kept = len(named) + len(written) - len(lost)
    room = min(len(named) + len(written), max(length // _ROOM, 1))
    return Coherence(kept, room, tuple(lost), tuple(around.invented(summary)))
