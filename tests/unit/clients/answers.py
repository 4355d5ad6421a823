"""Answers of a server, as small as they may be."""

from __future__ import annotations

FORGOTTEN = {"receipt": {}, "problems": [], "unclear": []}

MEMORY = {
    "id": "m",
    "scope": "semantic",
    "kind": "fact",
    "text": "I live in Hue.",
    "title": "I live in Hue.",
    "created_at": "2026-11-22T09:00:00Z",
    "origin": "user",
    "current": True,
    "revision": "r1",
}
