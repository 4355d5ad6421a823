"""An export as a page that a person can read: one file without scripts, which loads nothing from anywhere.

Everything in it is text that somebody wrote, so that everything is escaped; a browser is told besides to run nothing
and to fetch nothing.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from react_mem.memory.model.kinds import FACT, PROFILE
from react_mem.memory.rights.portability import text_of_record, texts_of, told_of_record, topics_of

_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that no page may have, and those that turn the direction of what follows."""

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>What is remembered</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
li { margin: .6em 0; } small { color: #666; } .past { color: #777; text-decoration: line-through; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .5em; font-size: 13px; }
</style>
</head>
<body>
<h1>What is remembered</h1>
"""


def readable_export(lines: Iterable[str]) -> str:
    """Return the page of an export: by topic, with dates, who vouches for it and what it was before.

    Args:
        lines: What `export_user` yielded. Of what is attached to messages only the size is told.
    """
    entries = [json.loads(line) for line in lines if line.strip()][1:]
    texts = texts_of(entries)
    parts = [_HEAD, f"<p>{len(entries)} records. The export as JSON Lines has the same, and what is attached.</p>\n"]
    for topic, found in topics_of(entries).items():
        parts += [f"<h2>{_shown(topic)} <small>{len(found)}</small></h2>\n<ul>\n"]
        parts += [_item(entry, texts) for entry in found]
        parts += ["</ul>\n"]
    return "".join([*parts, "</body>\n</html>"])


def _item(entry: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    record = entry["record"]
    if PROFILE.matches(record):
        return "".join(_field(name, held) for name, held in record.get("fields", {}).items())
    past = record.get("current") is False
    speaker = f"<b>{_shown(record['role'])}:</b> " if record.get("role") else ""
    line = f'{speaker}<span dir="auto"{" class=past" if past else ""}>{_shown(text_of_record(entry))}</span>'
    told = told_of_record(record, texts)
    if isinstance(data := record.get("data"), str) and record.get("ref"):
        record = {**record, "data": f"{len(data)} characters of base64"}
    return f"<li>{line}{_small(told)}{_whole(record)}</li>\n"


def _field(name: str, entry: Mapping[str, Any]) -> str:
    """Return a field of the profile, with what it held before."""
    held = [_value(entry), *(f'<span class="past">{_value(one)}</span>' for one in reversed(entry.get("previous", ())))]
    return f"<li><b>{_shown(name)}:</b> {'<br>'.join(held)}{_whole(entry)}</li>\n"


def _value(entry: Mapping[str, Any]) -> str:
    told = [str(entry.get("updated_at", ""))[:19], f"origin: {entry.get('origin', 'user')}"]
    return f'<span dir="auto">{_shown(entry.get("value", ""))}</span>{_small(told)}'


def _small(told: Sequence[str]) -> str:
    return f"<br><small>{_shown(' · '.join(told))}</small>" if told else ""


def _whole(record: Mapping[str, Any]) -> str:
    """Return all that is kept of a record, folded away."""
    kept = json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True)
    return f"<details><summary><small>all of it</small></summary><pre>{_shown(kept)}</pre></details>"


def _shown(text: Any) -> str:
    """Return a text that says only what it says, wherever in the page it stands."""
    return html.escape(_ODD.sub("\ufffd", str(text)), quote=True)


# An export as Markdown: lists that a person can read, which come back as the same memories.

_MARK = "react-mem"
_LINE = re.compile(rf"\s*<!-- {_MARK} (.*) -->\s*")
_ODD_OF_MARKDOWN_EXPORT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
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
        yield f"## {_shown_of_markdown_export(topic)}"
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
            yield f"- **{_shown_of_markdown_export(name)}:** {_shown_of_markdown_export(held.get('value', ''))}"
        return
    speaker = f"**{_shown_of_markdown_export(record['role'])}:** " if record.get("role") else ""
    said = _shown_of_markdown_export(text_of_record(entry)) or "…"
    past = FACT.matches(record) and record.get("current") is False
    line = f"~~{said}~~" if past else said
    told = _shown_of_markdown_export(" · ".join(told_of_record(record, texts)))
    yield f"- {speaker}{line}{f' *({told})*' if told else ''}"


def _shown_of_markdown_export(text: Any) -> str:
    """Return a text that says only what it says, on one line."""
    said = _SYNTAX.sub(r"\\\1", _ODD_OF_MARKDOWN_EXPORT.sub(" ", str(text)[:_SHOWN])).strip()
    return _BEGINS.sub(r"\1\\\2", said)


def render_export(lines: Iterable[str], form: str) -> list[str]:
    """Return an export for people: the one page of `html`, or the lines of `markdown`."""
    return [readable_export(lines)] if form == "html" else list(markdown_export(lines))
