"""An export as Markdown: lists that a person can read, which come back as the same memories.

Behind each item stands the line of the export, in a comment that a reader is not shown. It is that line which comes
back: the words of the list are for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from react_mem.memory.model.kinds import FACT, PROFILE
from react_mem.memory.rights.export_topics import text_of_record, texts_of, told_of_record, topics_of

_MARK = "react-mem"
_LINE = re.compile(rf"\s*<!-- {_MARK} (.*) -->\s*")
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
"""Characters that end a line, say nothing, or turn the direction of what follows."""

_SYNTAX = re.compile(r"([\\`*_\[\]<>&#|~$!])")

_BEGINS = re.compile(r"^(-*|\d*)([-+.)])")
"""Beginning of a line that would begin a list or a rule."""

_SHOWN = 2_000
"""Characters of a memory that the list shows; the comment has all of it."""


def markdown_export(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an export as Markdown.

    Args:
        lines: What `export_user` yielded.
    """
    first, *rest = (line for line in lines if line.strip())
    told = {line: json.loads(line) for line in rest}
    yield "# What is remembered"
    yield _comment(first)
    texts = texts_of(told.values())
    places = {id(entry): line for line, entry in told.items()}
    for topic, entries in topics_of(told.values()).items():
        yield ""
        yield f"## {_shown(topic)}"
        yield ""
        for entry in entries:
            yield from _items(entry, texts)
            yield f"  {_comment(places[id(entry)])}"


def exported_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the export that a Markdown file was made of; none of any other file.

    Args:
        lines: The lines of the file.
    """
    for line in lines:
        if found := _LINE.fullmatch(line):
            yield found[1]


def _comment(line: str) -> str:
    """Return a line of an export as a comment, which nothing in it can end: within JSON these stand in texts only."""
    kept = line.replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
    return f"<!-- {_MARK} {kept} -->"


def _items(entry: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[str]:
    record = entry["record"]
    if PROFILE.matches(record):
        for name, held in record.get("fields", {}).items():
            yield f"- **{_shown(name)}:** {_shown(held.get('value', ''))}"
        return
    speaker = f"**{_shown(record['role'])}:** " if record.get("role") else ""
    said = _shown(text_of_record(entry)) or "…"
    past = FACT.matches(record) and record.get("current") is False
    line = f"~~{said}~~" if past else said
    told = _shown(" · ".join(told_of_record(record, texts)))
    yield f"- {speaker}{line}{f' *({told})*' if told else ''}"


def _shown(text: Any) -> str:
    """Return a text that says only what it says, on one line."""
    said = _SYNTAX.sub(r"\\\1", _ODD.sub(" ", str(text)[:_SHOWN])).strip()
    return _BEGINS.sub(r"\1\\\2", said)
