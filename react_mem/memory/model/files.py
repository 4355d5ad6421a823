"""Files that agents keep for a user: one record each, under its path.

The text of a file is searched. Content in no language, such as an image, and content that a run has only set aside for
itself is kept as `data`: it is read by its path, and never found by its content.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Record, now, record_id

Encoding = Literal["utf-8", "base64"]

_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories not allowed in a path: controls, surrogates, line and paragraph separators."""

_BETWEEN_WORDS = re.compile(r"[/._\-\s]+")


class AgentFile(Record):
    """File of an agent. It never teaches anything about the user: its words are the agent's, or trusted less.

    Args:
        path: Its path among the owner's files.
        text: Its searchable content.
        data: Other content: base64, or a text that a run has set aside. One of the two is empty.
        encoding: The encoding of `text` or `data`.
        keywords: The words of its path, for the index only; empty if it is set aside.
        modified_at: When it was last written.
    """

    RARE: ClassVar[tuple[str, ...]] = (*Record.RARE, "data", "keywords")
    MAX_BYTES: ClassVar[int] = 5 * 2**20  # of one file, as of an attachment: it is read and written as a whole
    MAX_PATH_CHARS: ClassVar[int] = 1_000

    kind: Literal["file"] = "file"
    origin: Origin = Origin.ASSISTANT
    path: str
    text: str = ""
    data: str = ""
    encoding: Encoding = "utf-8"
    keywords: str = ""
    modified_at: datetime = Field(default_factory=now)

    @staticmethod
    def clean_path(path: str) -> str:
        """Return a path in normal form: absolute, without empty parts.

        Raises:
            ValueError: If it is no path of a file or a folder; the message says why, without repeating it.

        >>> AgentFile.clean_path("/notes//trip.md"), AgentFile.clean_path("//notes/"), AgentFile.clean_path("/.")
        ('/notes/trip.md', '/notes', '/')
        """
        most = AgentFile.MAX_PATH_CHARS
        if not isinstance(path, str) or not path.startswith("/"):
            raise ValueError("a path must be absolute: begin it with '/'")
        if len(path) > most:
            raise ValueError(f"a path has {most:,} characters at most, this one {len(path):,}")
        if ".." in path.split("/"):
            raise ValueError("a path must not lead up with '..': name it from '/'")
        if any(unicodedata.category(char) in _UNSEEN for char in path):
            raise ValueError("a path must not hold control characters or line breaks")
        return "/" + posixpath.normpath(path).lstrip("/")

    @staticmethod
    def file_path(path: str) -> str:
        """Return the path of a file, as `clean_path` does; ValueError if it names a folder."""
        if isinstance(path, str) and path.endswith("/"):
            raise ValueError("this names a folder: give the path of a file, without '/' at its end")
        return AgentFile.clean_path(path)

    @staticmethod
    def check_text(text: str) -> None:
        """Raise ValueError for a text that a database would change: it holds NUL or a lone surrogate."""
        if "\x00" in text:
            raise ValueError("a text must not hold NUL characters: upload the file as bytes")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("a text must be valid Unicode: it holds half of a surrogate pair") from None

    @staticmethod
    def identity(path: str) -> str:
        """Return the id of the file at a path."""
        return record_id("file", path)

    @property
    def content(self) -> str:
        """Its whole content: text, or base64."""
        return self.text or self.data

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        """Derive id and keywords from the path."""
        if not isinstance(data, dict) or not isinstance(data.get("path"), str):
            return data
        path = data["path"]
        aside = bool(data.get("data")) and data.get("encoding", "utf-8") == "utf-8"
        words = "" if aside else " ".join(_BETWEEN_WORDS.split(path)).strip()
        return {"id": cls.identity(path), "keywords": words, **data}

    @model_validator(mode="after")
    def _at_its_path(self) -> Self:
        """Refuse a record with an id or path that does not match."""
        if self.file_path(self.path) != self.path:
            raise ValueError("path: is not in its plain form; give it absolute, without empty parts")
        if self.id != self.identity(self.path):
            raise ValueError("id: is not that of the file at this path; leave it out")
        return self
