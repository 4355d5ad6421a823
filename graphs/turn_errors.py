"""What goes wrong in a turn, in words for the person who sees it."""

from __future__ import annotations
