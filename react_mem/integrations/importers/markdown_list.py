"""Lists in Markdown: each item is a fact, such as memories that were copied from a page of settings."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from react_mem.integrations.importers.file_source import FileSource
from react_mem.integrations.importers.foreign_entry import ForeignEntry, UnusableEntry, digest_of
from react_mem.integrations.importers.import_files import text_stream
from react_mem.memory.records import normalise

_FILES = re.compile(r"\.(md|markdown|txt)$", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_MAX_LINE = 1_000_000


class MarkdownList(FileSource):
    """Items of lists in Markdown."""

    name = "markdown"
    personal = True

    def entries(self) -> Iterator[ForeignEntry | UnusableEntry]:
        """Yield the items; one that goes on in indented lines is one, and the words between lists are none."""
        for name, stream in self.file.parts(_FILES):
            item, first = "", 0
            number = 0
            lines = text_stream(stream)
            while line := _line(lines, name, number):
                number += 1
                found = _ITEM.match(line)
                if found is None and item and line[:1] in " \t" and line.strip():
                    item = f"{item} {line.strip()}"
                    continue
                yield from _said(item, name, first)
                item, first = (found[1].strip(), number) if found else ("", 0)
            yield from _said(item, name, first)


def _line(lines: io.TextIOWrapper, name: str, number: int) -> str:
    try:
        return lines.readline(_MAX_LINE)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}, behind line {number}: is not UTF-8 ({error.reason}); save it as UTF-8") from None


def _said(item: str, name: str, line: int) -> Iterator[ForeignEntry | UnusableEntry]:
    # nothing else tells an item in a list from another
    if item:
        yield ForeignEntry(id=digest_of("item", normalise(item)), text=item, place=f"{name}, line {line}")
    elif line:
        yield UnusableEntry(f"{name}, line {line}", "is an empty item")
