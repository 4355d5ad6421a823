"""Errors of a turn, in words for the person who sees them."""

from __future__ import annotations
