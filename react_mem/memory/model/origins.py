"""Provenance: who vouches for a record. It decides what a record may teach, and never rises by being derived or moved.

What somebody says who is trusted more is another piece of evidence, and a fact that they say is theirs from then on.

The idea is that of integrity levels (Biba, 1977): what is made of several sources is trusted as little as the least of
them, and only the highest level may change what is known of the user.
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
    QUOTED = "quoted"
    """Code, quotations, forwarded or pasted text inside a message of the user's."""
    ASSISTANT = "assistant"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"
    """Taken in from a file, or put there by the application."""

    def least(self, other: Origin) -> Origin:
        """Return the less trusted one of two origins: that of what is derived from both."""
        return lowest([self, other])


LABELS = {
    Origin.USER: "",
    Origin.ASSENT: "(agreed) ",
    Origin.QUOTED: "(quoted) ",
    Origin.ASSISTANT: "(assistant) ",
    Origin.TOOL: "(tool) ",
    Origin.WEB: "(page) ",
    Origin.IMPORT: "(imported) ",
}
"""Prefix of a displayed text that is not in the user's own words."""

_RANK = {origin: place for place, origin in enumerate(Origin)}


def is_higher(origin: Origin, other: Origin) -> bool:
    """Return whether an origin is trusted more than another one.

    >>> is_higher(Origin.USER, Origin.IMPORT), is_higher(Origin.WEB, Origin.WEB)
    (True, False)
    """
    return _RANK[origin] < _RANK[other]


def lowest(origins: Iterable[Origin]) -> Origin:
    """Return the least trusted of some origins: that of what is derived from all of them.

    Args:
        origins: The origins of the sources; none count as the user's own words.

    >>> lowest([Origin.USER, Origin.TOOL, Origin.ASSENT]).value
    'tool'
    """
    return max(origins, key=_RANK.__getitem__, default=Origin.USER)
