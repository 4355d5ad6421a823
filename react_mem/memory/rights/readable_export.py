"""Exports for people: an HTML page without scripts or external resources, and Markdown that can be imported again.

Both show the same lines by topic: the profile, facts by whom they are about, what was drawn, what was said. All text is
escaped; the page also forbids the browser to run or fetch anything.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from react_mem.memory.model.kinds import FACT, KINDS, MESSAGE, PROFILE, title_of

MAX_TITLE = 300

_TIMES = {
    "said_at": "said",
    "valid_from": "since",
    "valid_to": "until",
    "event_at": "about",
    "retired_at": "not believed since",
    "updated_at": "changed",
    "created_at": "written",
}
"""Labels of the times shown with a record."""


class _Line(NamedTuple):
    """Line of a record: who said it or the field of the profile, the text, whether it is over, and more."""

    label: str
    text: str
    past: bool
    told: Sequence[str]


def render_export(lines: Iterable[str], form: str) -> list[str]:
    """Return an export for people: the one page of `html`, or the lines of `markdown`."""
    return [readable_export(lines)] if form == "html" else list(markdown_export(lines))


def _topics(entries: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the entries of an export by topic, in reading order."""
    topics: dict[str, list[Mapping[str, Any]]] = {}
    for place, entry in sorted(((_place(entry), entry) for entry in entries), key=lambda pair: pair[0]):
        topics.setdefault(place[-1], []).append(entry)
    return topics


def _texts(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {str(entry["record"].get("id")): _text(entry["record"]) for entry in entries}


def _text(record: Mapping[str, Any]) -> str:
    title = title_of(record) or record.get("ref") or record.get("id") or ""
    return title if isinstance(title, str) else json.dumps(title, ensure_ascii=False)


def _shown(record: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[_Line]:
    """Yield the lines of a record: of a profile one for each value, else one."""
    if not PROFILE.matches(record):
        past = FACT.matches(record) and record.get("current") is False
        yield _Line(str(record.get("role") or ""), _text(record), past, _told(record, texts))
        return
    for name, held in record.get("fields", {}).items():
        for place, one in enumerate([held, *reversed(held.get("previous", ()))]):
            yield _Line(name, str(one.get("value", "")), place > 0, _told({"origin": "user", **one}, texts))


def _told(record: Mapping[str, Any], texts: Mapping[str, str]) -> list[str]:
    """Return the details shown with a record: its times, origin, successor (by `texts`) and other wordings."""
    told = [f"{name} {str(record[field])[:19]}" for field, name in _TIMES.items() if record.get(field)]
    if record.get("origin"):
        told.append(f"origin: {record['origin']}")
    if successor := record.get("superseded_by"):
        told.append(f"then: {texts.get(str(successor), str(successor))[:MAX_TITLE]}")
    wordings: Sequence[Mapping[str, Any]] = record.get("wordings") or ()
    return [*told, *(f"also put: {_text(wording)[:MAX_TITLE]}" for wording in wordings)]


def _place(entry: Mapping[str, Any]) -> tuple[int, str, str, str]:
    """Return the order of an entry, by topic and time, and the title of its topic."""
    record = entry["record"]
    when = str(record.get("said_at") or record.get("created_at") or "")
    if PROFILE.matches(record):
        return 0, "", "", "Profile"
    if FACT.matches(record):
        about = str(record.get("about") or "user")
        return (1, "", when, "Facts about the user") if about == "user" else (2, about, when, f"Facts about {about}")
    order = [*KINDS]
    if MESSAGE.matches(record):
        session = str(record.get("session_id", ""))
        return 3 + len(order), session, when, f"Conversation {session}"
    kind = str(record.get("kind", ""))
    place = order.index(kind) if kind in order else len(order)
    return 3 + place, kind, when, (kind or str(entry["in"])).replace("_", " ").capitalize()


# An export as a page.

_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters not allowed in a page, and those that turn the direction of text."""

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
    """Return the page of an export: by topic, with dates, origins and former values; of attachments the size only."""
    entries = [json.loads(line) for line in lines if line.strip()][1:]
    texts = _texts(entries)
    parts = [_HEAD, f"<p>{len(entries)} records. The export as JSON Lines has the same, and what is attached.</p>\n"]
    for topic, found in _topics(entries).items():
        parts += [f"<h2>{_html(topic)} <small>{len(found)}</small></h2>\n<ul>\n"]
        for entry in found:
            record = entry["record"]
            shown = "<br>".join(map(_line_of_page, _shown(record, texts)))
            if isinstance(data := record.get("data"), str) and record.get("ref"):
                record = {**record, "data": f"{len(data)} characters of base64"}
            whole = _html(json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True))
            parts += [
                f"<li>{shown}<details><summary><small>all of it</small></summary><pre>{whole}</pre></details></li>\n"
            ]
        parts += ["</ul>\n"]
    return "".join([*parts, "</body>\n</html>"])


def _line_of_page(shown: _Line) -> str:
    label = f"<b>{_html(shown.label)}:</b> " if shown.label else ""
    told = f"<br><small>{_html(' · '.join(shown.told))}</small>" if shown.told else ""
    return f'{label}<span dir="auto"{" class=past" if shown.past else ""}>{_html(shown.text)}</span>{told}'


def _html(text: Any) -> str:
    """Return a text escaped for any place of the page."""
    return html.escape(_ODD.sub("\ufffd", str(text)), quote=True)


# An export as Markdown: lists that a person can read, which come back as the same memories.

_MARK = "react-mem"
_LINE = re.compile(rf"\s*<!-- {_MARK} (.*) -->\s*")
_ODD_IN_MARKDOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
"""Characters that end a line, are invisible, or turn the direction of text."""

_SYNTAX = re.compile(r"([\\`*_\[\]<>&#|~$!])")
_BEGINS = re.compile(r"^(-*|\d*)([-+.)])")  # beginning of a line that would begin a list or a rule
_SHOWN = 2_000  # characters of a memory in the list; the comment has the whole memory


def markdown_export(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an export as Markdown."""
    first, *rest = (line for line in lines if line.strip())
    told = {line: json.loads(line) for line in rest}
    yield "# What is remembered"
    yield _comment(first)
    texts = _texts(told.values())
    places = {id(entry): line for line, entry in told.items()}
    for topic, entries in _topics(told.values()).items():
        yield from ("", f"## {_markdown(topic)}", "")
        for entry in entries:
            for label, text, past, more in _shown(entry["record"], texts):
                said = _markdown(text) or "…"
                whose = f"**{_markdown(label)}:** " if label else ""
                details = _markdown(" · ".join(more))
                yield f"- {whose}{f'~~{said}~~' if past else said}{f' *({details})*' if details else ''}"
            yield f"  {_comment(places[id(entry)])}"


def exported_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the export lines among the lines of a Markdown file; none of any other file."""
    for line in lines:
        if found := _LINE.fullmatch(line):
            yield found[1]


def _comment(line: str) -> str:
    """Return an export line as a comment; JSON has the escaped characters in strings only."""
    kept = line.replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
    return f"<!-- {_MARK} {kept} -->"


def _markdown(text: Any) -> str:
    """Return a text escaped for one line of Markdown."""
    said = _SYNTAX.sub(r"\\\1", _ODD_IN_MARKDOWN.sub(" ", str(text)[:_SHOWN])).strip()
    return _BEGINS.sub(r"\1\\\2", said)
