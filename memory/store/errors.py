"""Errors of storage; each message names the cause and the fix."""

from __future__ import annotations
