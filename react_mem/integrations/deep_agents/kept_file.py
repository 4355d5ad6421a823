"""A file as it is handed about: its path, and what is in it."""

from __future__ import annotations

import base64
from typing import Literal, NamedTuple

from react_mem.memory import Origin


class Contents(NamedTuple):
    """Contents of a file.

    Args:
        content: Its text, or base64.
        encoding: Which of the two.
    """

    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"

    @classmethod
    def of(cls, data: bytes) -> Contents:
        """Return bytes as text where they are one, else as base64. It takes a while; not on an event loop.

        >>> Contents.of(b"tea"), Contents.of(b"a\\x00b")
        (Contents(content='tea', encoding='utf-8'), Contents(content='YQBi', encoding='base64'))
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = ""
        if (not text and data) or "\x00" in text:
            return cls(base64.b64encode(data).decode("ascii"), "base64")
        return cls(text)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        if self.encoding == "base64":
            return len(self.content) // 4 * 3 - self.content[-2:].count("=")
        return len(self.content) if self.content.isascii() else len(self.content.encode())

    def data(self) -> bytes:
        """Return it as bytes."""
        return base64.b64decode(self.content) if self.encoding == "base64" else self.content.encode()


class KeptFile(NamedTuple):
    """A file as it is kept.

    Args:
        path: Its path.
        contents: What is in it.
        created_at: When it was first written, as ISO 8601.
        modified_at: When it was last written.
        origin: Who vouches for it.
    """

    path: str
    contents: Contents
    created_at: str
    modified_at: str
    origin: Origin
