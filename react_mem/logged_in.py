"""User at the terminal, and the form of user ids there. It imports next to nothing: hooks wait for it."""

from __future__ import annotations

import getpass

MAX_USER = 512
"""Maximum characters of a user's id in a run's context."""


def user_name() -> str:
    """Return the name of the user at the terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # a container may run under a number without a name
        return "me"


def is_user_id(value: str) -> bool:
    r"""Return true if a text may be the id of a user.

    >>> is_user_id("ann"), is_user_id(""), is_user_id("a\nb")
    (True, False, False)
    """
    return 1 <= len(value) <= MAX_USER and value.isprintable()
