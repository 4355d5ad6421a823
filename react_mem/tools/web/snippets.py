"""Text of what an engine or a retriever shows of a page: without tags, comments and entities.

It is a line or two that may be cut anywhere, and mostly no markup at all, so that no parser of pages is needed. What
only looks like markup stays: `a < b`, `List<int>`, `&copy=1` of an address. All of it is one pass over the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from react_mem.tools.web.clean import BLOCK_TAGS, HIDDEN_STYLE, SILENT_TAGS

_MORE = """
a abbr acronym area b base bdi bdo big body caption center cite code col colgroup data datalist del details dfn em font
frameset head hgroup hr html i img ins kbd label legend link mark marquee menu meta meter nobr noframes optgroup option
output param picture progress q rp rt ruby s samp search slot small source span strike strong sub summary sup tbody
tfoot thead time track tt u var wbr
"""
_NAMES = SILENT_TAGS | BLOCK_TAGS | frozenset(_MORE.split())

# Nothing here is tried again from another place: a value, a comment and a tag that are not closed go on to the end.
_MARK = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?:![A-Za-z\[]|\?[A-Za-z])[^<>]*+>"
    r"|<(?P<closes>/?)(?P<name>[A-Za-z][\w:-]*+)(?P<attributes>(?:[\s/]++|(?<=[\"']))*+"
    r"(?:[A-Za-z_:@][\w:.@-]*+(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s\"'<>]++|\Z))?+"
    r"(?:[\s/]++|(?<=[\"'])|(?=>)|\Z))*+)(?P<end>>|\Z)",
    re.DOTALL,
)
_CLOSING = re.compile(r"</([A-Za-z][\w:-]*+)")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_HIDES = re.compile(
    r"(?:^|\s)hidden(?=[\s/=]|$)|aria-hidden\s*=\s*[\"']?true|style\s*=\s*(\"[^\"]*|'[^']*)", re.IGNORECASE
)
_SPACE = re.compile(r"[^\S\n]+")


def without_markup(text: str) -> str:
    """Return a text without its markup, blocks on lines of their own; what has none stays as it is.

    >>> without_markup("<p>The <b>latest</b> news &amp; more</p><!-- ad -->"), without_markup("if a < b: List<int>")
    ('The latest news & more', 'if a < b: List<int>')
    """
    pieces = list(_pieces(text)) if "<" in text else [text]
    said = _ENTITY.sub(lambda found: html.unescape(found[0]), "".join(pieces)) if "&" in text else "".join(pieces)
    if said == text:
        return text
    lines = (_SPACE.sub(" ", line).strip() for line in said.split("\n"))
    return "\n".join(line for line in lines if line)


def _pieces(text: str) -> Iterator[str]:
    """Yield what stands between the marks of a text and is seen."""
    closed = {mark[1].lower(): mark.start() for mark in _CLOSING.finditer(text)}
    place = depth = 0
    silent = ""
    for mark in _MARK.finditer(text):
        name = (mark["name"] or "").lower()
        if silent:
            depth += 0 if name != silent else -1 if mark["closes"] else 1
            if depth:
                continue
            silent, place = "", mark.end()
        elif name and not _is_tag(mark, name, closed):
            continue
        else:
            yield text[place : mark.start()]
            place = mark.end()
            if not mark["closes"] and _is_silent(mark, name, closed):
                silent, depth = name, 1
        yield "\n" if name in BLOCK_TAGS else ""
    yield "" if silent else text[place:]


def _is_tag(mark: re.Match[str], name: str, closed: dict[str, int]) -> bool:
    """Return whether a mark is a tag: one of HTML's, or of whoever closes it too, such as an engine's `<hl>`."""
    # at the end, where a text is cut, a tag has an attribute or nothing: "a <b or c" is no tag
    return (name in _NAMES or name in closed) and bool(
        mark["end"] or not mark["attributes"] or "=" in mark["attributes"]
    )


def _is_silent(mark: re.Match[str], name: str, closed: dict[str, int]) -> bool:
    """Return whether what follows a tag, up to where it is closed, is not what a reader of the page sees."""
    if closed.get(name, -1) < mark.start():
        return False
    return name in SILENT_TAGS or any(
        found[1] is None or HIDDEN_STYLE.search(re.sub(r"\s", "", found[1][1:]).lower())
        for found in _HIDES.finditer(mark["attributes"])
    )
