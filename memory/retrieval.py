"""Kept for the name of the profile's key until its users import it from `memory.records`."""

from memory.records import PROFILE_KEY

__all__ = ["PROFILE_KEY"]
