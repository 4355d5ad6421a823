"""Provenance of records: it decides how far a record may teach, and never rises by derivation or a move.

A statement repeated by a more trusted speaker is another piece of evidence, and the fact is theirs from then on.

The idea is that of integrity levels (Biba, 1977): a record of several sources is trusted as little as the least of
them, and only the highest level may change facts about the user.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Origin(StrEnum):
    """Provenance of a record, the most trusted first."""

    USER = "user"
    """The user's own words."""
    ASSENT = "assent"
    """The user's yes to something that the assistant proposed."""
    SPEAKER = "speaker"
    """Words of another person in the user's conversation, who is named."""
    QUOTED = "quoted"
    """Code, quotations, forwarded or pasted text inside a message of the user's."""
    ASSISTANT = "assistant"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"
    """Taken in from a file, or put there by the application."""

    def least(self, other: Origin) -> Origin:
        """Return the less trusted of two origins, for records derived from both."""
        return lowest([self, other])


LABELS = {
    Origin.USER: "",
    Origin.ASSENT: "(agreed) ",
    Origin.SPEAKER: "(speaker) ",
    Origin.QUOTED: "(quoted) ",
    Origin.ASSISTANT: "(assistant) ",
    Origin.TOOL: "(tool) ",
    Origin.WEB: "(page) ",
    Origin.IMPORT: "(imported) ",
}
"""Prefix of a displayed text that is not in the user's own words."""

_RANK = {origin: place for place, origin in enumerate(Origin)}


def is_higher(origin: Origin, other: Origin) -> bool:
    """Return true if an origin is trusted more than another one.

    >>> is_higher(Origin.USER, Origin.IMPORT), is_higher(Origin.WEB, Origin.WEB)
    (True, False)
    """
    return _RANK[origin] < _RANK[other]


def lowest(origins: Iterable[Origin]) -> Origin:
    """Return the least trusted of some origins, for records derived from all of them; the user's for none.

    >>> lowest([Origin.USER, Origin.TOOL, Origin.ASSENT]).value
    'tool'
    """
    return max(origins, key=_RANK.__getitem__, default=Origin.USER)
