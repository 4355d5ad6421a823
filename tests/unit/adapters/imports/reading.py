"""Sources as tests read them: a file with some content, and what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from react_mem.integrations.importers.as_records import Entry, ForeignEntry, UnusableEntry
from react_mem.integrations.importers.import_files import ImportFile

Source = Callable[[ImportFile], Iterator[Entry]]


def in_file(folder: Path, content: Any, name: str = "export.json") -> Path:
    """Write a file, of what is no text as JSON, and return it."""
    file = folder / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        file.write_text(text, encoding="utf-8")
    return file


def read(source: Source, file: Path) -> tuple[list[ForeignEntry], list[UnusableEntry]]:
    """Return the entries of a source, and what becomes none."""
    found = list(source(ImportFile(str(file))))
    return (
        [entry for entry in found if isinstance(entry, ForeignEntry)],
        [entry for entry in found if isinstance(entry, UnusableEntry)],
    )
