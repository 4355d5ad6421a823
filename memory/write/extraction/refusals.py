"""Reasons for which a proposal is refused."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - a signal within the checks
    """A proposal that is not believed; the message is the reason."""


def bounded(text: str, limit: int, name: str) -> None:
    """Refuse a text that is empty or too long; the name says which."""
    if not text.strip():
        raise Refused(f"{name} is empty")
    if len(text) > limit:
        raise Refused(f"{name} is too long")
