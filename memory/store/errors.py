"""What can go wrong with storage, each with a message that names the cause and the fix."""

from __future__ import annotations
