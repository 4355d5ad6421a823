"""Source that is a file: read in a thread, some entries at a time, so that nothing waits for a disk or a parser."""

from __future__ import annotations

import asyncio
import math
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, ClassVar

from react_mem.integrations.importers.foreign_entry import BATCH, Entries, ForeignEntry, UnusableEntry
from react_mem.integrations.importers.import_files import ImportFile

NO_OBJECT = "is not a JSON object"


class FileSource(ABC):
    """Memories of another system in a file.

    Args:
        file: The file.
    """

    name: ClassVar[str]
    personal: ClassVar[bool] = False

    def __init__(self, file: ImportFile) -> None:
        self.file = file

    @abstractmethod
    def entries(self) -> Iterator[ForeignEntry | UnusableEntry]:
        """Yield what is in the file, from the beginning.

        Raises:
            ValueError: If it cannot be read.
        """

    async def batches(self) -> AsyncIterator[Entries]:
        """Yield what is in the file, some at a time.

        Raises:
            ValueError: If it cannot be read; the message says where and why, and what to do.
        """
        entries = self.entries()
        while batch := await asyncio.to_thread(self._next, entries):
            yield batch

    def _next(self, entries: Iterator[ForeignEntry | UnusableEntry]) -> Entries:
        try:
            return list(islice(entries, BATCH))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise ValueError(f"{self.file.name}: the archive is damaged ({error}); download it again") from None
        except OSError as error:
            raise ValueError(f"{self.file.name} cannot be read: {error.strerror or error}") from None


def text_of(value: Any) -> str:
    """Return a text that a system gives; empty where it gives none, or something else.

    >>> text_of("7"), text_of(7), text_of(float("nan")), text_of(None)
    ('7', '7', '', '')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def noted(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return what a system keeps beside a memory, under some names, as far as there is any."""
    return {name: value[name] for name in names if value.get(name)}
