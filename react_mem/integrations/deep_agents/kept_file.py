"""A file as a value: its path and contents."""

from __future__ import annotations

import base64
from typing import Literal, NamedTuple

from react_mem.memory import Origin


class Contents(NamedTuple):
    """Contents of a file, as text or base64."""

    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"

    @classmethod
    def of(cls, data: bytes) -> Contents:
        r"""Return bytes as text if they are UTF-8 without NUL, else as base64. Slow: not for an event loop.

        >>> Contents.of(b"tea"), Contents.of(b"a\x00b")
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
        """Return the contents as bytes."""
        return base64.b64decode(self.content) if self.encoding == "base64" else self.content.encode()


class KeptFile(NamedTuple):
    """A stored file.

    Args:
        created_at: First written, as ISO 8601.
        modified_at: Last written, as ISO 8601.
    """

    path: str
    contents: Contents
    created_at: str
    modified_at: str
    origin: Origin
