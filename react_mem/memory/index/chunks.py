"""Long texts in pieces: one vector cannot stand for four thousand characters."""

from __future__ import annotations

import re

CHUNK_CHARS = 800
"""Characters of a piece, about 200 tokens: e5 reads 512 at most, and a piece should be about one thing."""

MAX_CHUNKS = 20
"""Pieces of one text: 16,000 characters at most and 8,000 at least, as pieces end where sentences do. What is pasted
beyond that is kept, and not searched."""

_SLACK = 1.25
"""A text this little longer stays whole: a last piece of a few words is found by everything and says nothing."""

_BREAK = re.compile(r"(?<=\n)|(?<=[.!?。！？][^\S\n])")


def chunks(text: str) -> list[str]:
    """Cut a text at line and sentence ends into pieces of about `CHUNK_CHARS` characters, `MAX_CHUNKS` at most.

    >>> chunks("tea")
    ['tea']
    >>> [len(piece) for piece in chunks("A sentence of some words. " * 100)]
    [779, 779, 779, 259]
    """
    whole = text[: CHUNK_CHARS * MAX_CHUNKS]
    if len(whole) <= CHUNK_CHARS * _SLACK:
        return [text] if text.strip() else []
    found: list[str] = []
    piece = ""
    for part in _BREAK.split(whole):
        while len(part) > CHUNK_CHARS:
            if piece:
                found.append(piece)
            piece = ""
            found.append(part[:CHUNK_CHARS])
            part = part[CHUNK_CHARS:]
        if piece and len(piece) + len(part) > CHUNK_CHARS:
            found.append(piece)
            piece = ""
        piece += part
    found.append(piece)
    return [stripped for piece in found if (stripped := piece.strip())][:MAX_CHUNKS]
