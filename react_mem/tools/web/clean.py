"""Text of a page's markup, without scripts, hidden parts and menus. The text is data and no instruction."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from typing import Any

from react_mem.memory.language import index_terms, index_words

MAX_TEXT_CHARS = 200_000
"""Characters of one page: a book chapter. Choosing its passages takes about 50 ms."""

_MAX_ELEMENTS = 12_000
"""Elements that take trafilatura half a second; it is slower than linear, and its thread cannot be stopped. One page in
a thousand has more, and is read plainly.
"""

MAX_TITLE_CHARS = 200

_SILENT = """
script style noscript template iframe frame object embed applet svg canvas math audio video map button input select
textarea dialog
"""
_BLOCK = """
address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav
ol p pre section table td th title tr ul
"""
_SILENT_TAG = "template"
"""Tag that replaces hidden elements."""

_INLINE = """
a abbr b bdi big center cite code del em font i img ins kbd label link mark meta nobr q s samp small span strike strong
sub sup time tt u var wbr html head body title
"""
_SILENT_TAGS, _BLOCK_TAGS = frozenset(_SILENT.split()), frozenset(_BLOCK.split())
_HIDDEN_STYLE = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0(?:\.0+)?(?:[;!]|$)|font-size:0(?:\.0+)?(?:px|pt|em|rem|%)?(?:[;!]|$)"
    r"|(?:text-indent|left|top|margin-left):-\d{3,}|(?:max-)?(?:height|width):0(?:px)?(?:[;!]|$)|clip:rect\(0|clip-path:inset\(50%"
)
# An HTML tag, one that is closed too, such as an engine's `<hl>`, or a comment; the last may be cut off.
_MARKUP = re.compile(
    rf"<!--|<(?:[!?][a-z]|(?:{'|'.join((_SILENT + _BLOCK + _INLINE).split())})(?![\w:-]))[^<>]*+>"
    r"|</[a-z][\w:-]*+[^<>]*+(?:>|\Z)|<[a-z]++\s[^<>=]*+=[^<>]*+\Z",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class MissingPackage(ImportError):  # noqa: N818 - it says what is missing
    """Error for a missing package of web search.

    >>> str(MissingPackage("ddgs"))
    "the package ddgs is not installed; run: pip install 'react-mem[search]'"
    """

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(f"the package {package} is not installed; run: pip install 'react-mem[search]'")


@dataclass(frozen=True)
class Article:
    """Text of a page, a paragraph a line, its title, and its date as YYYY-MM-DD (empty: unknown)."""

    text: str
    title: str = ""
    published: str = ""


def clean(markup: str) -> Article:
    """Return the text of a page; empty for none. Blocking: up to a second of work.

    Raises MissingPackage without trafilatura.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise MissingPackage("trafilatura") from error
    # a page that cannot be parsed is no news for the operator
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    logging.getLogger("htmldate").setLevel(logging.CRITICAL)
    tree = _parsed(markup)
    if tree is None:
        return Article("")
    title = _flat(tree.findtext(".//title") or "")[:MAX_TITLE_CHARS]
    if sum(1 for _ in tree.iter()) > _MAX_ELEMENTS:
        return Article(_plain(tree), title)
    found = trafilatura.bare_extraction(
        tree,
        # the comparison with other extractors doubles the time
        fast=True,
        include_comments=False,
        with_metadata=True,
        date_extraction_params={"extensive_search": False, "original_date": True, "outputformat": "%Y-%m-%d"},
    )
    text = str(getattr(found, "text", "") or "")[:MAX_TEXT_CHARS]
    return Article(
        # a page without an article is a list, a table or a line
        text=text if len(text) >= 200 else max(text, _plain(tree), key=len),
        title=_flat(getattr(found, "title", "") or "")[:MAX_TITLE_CHARS] or title,
        published=getattr(found, "date", "") or "",
    )


def without_markup(text: str) -> str:
    """Return an engine's text without its markup, a block a line; a text without any stays unchanged.

    >>> without_markup("<p>The <b>latest</b> news &amp; more</p><!-- ad -->"), without_markup("if a < b: List<int>")
    ('The latest news & more', 'if a < b: List<int>')
    """
    if _MARKUP.search(text):
        tree = _parsed(text)
        return "" if tree is None else _plain(tree)
    return without_entities(text)


def without_entities(text: str) -> str:
    """Return a text with the characters that its entities stand for; in `?a=1&copy=2` there is none."""
    return _ENTITY.sub(lambda found: unescape(found[0]), text)


def _parsed(markup: str) -> Any:
    """Return the tree of a page without its hidden parts; None for none. Raises MissingPackage without lxml."""
    try:
        from lxml import html  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingPackage("lxml") from error
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    source = markup.replace("\x00", "").encode("utf-8", "replace")
    try:
        tree = html.document_fromstring(source, parser=parser)
    except (ValueError, AssertionError, html.etree.LxmlError):
        return None
    _drop_hidden(tree)
    return tree


def _drop_hidden(tree: Any) -> None:
    """Remove the parts that a reader of the page does not see, which hold prompt injections."""
    from lxml.etree import strip_elements  # type: ignore[import-untyped]

    for element in tree.xpath("//*[@hidden or @aria-hidden='true' or @style]"):
        hidden = "hidden" in element.attrib or element.get("aria-hidden") == "true"
        style = re.sub(r"\s", "", element.get("style", "")).lower()
        if (hidden or _HIDDEN_STYLE.search(style)) and element.getparent() is not None and element.tag != "body":
            element.tag = _SILENT_TAG
    # in one pass: removal one by one takes quadratic time
    strip_elements(tree, *_SILENT_TAGS, with_tail=False)
    # joins the text pieces once, instead of at every access
    for element in tree.iter():
        element.text, element.tail = element.text, element.tail


def _plain(tree: Any) -> str:
    from lxml.etree import iterwalk

    body, parts, size = tree.find("body"), [], 0
    for event, element in iterwalk(tree if body is None else body, events=("start", "end")):
        said = (element.text if event == "start" else element.tail) or ""
        # what is before, in and after a block has lines of its own
        parts.append(f"\n{said}" if element.tag in _BLOCK_TAGS else said)
        size += len(said)
        if size > MAX_TEXT_CHARS:
            break
    lines = (_flat(line) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)[:MAX_TEXT_CHARS]


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


MAX_PAGE_CHARS = 2000
"""Characters of one page in the prompt: three pages are about 2,000 tokens."""

_PASSAGE_CHARS = 400
_MAX_PASSAGES = 600

_LEAD = 0.3
"""Bonus of a page's beginning, which states its topic."""

_NEARLY = 0.8
"""Share of common word triples from which a page is a copy of another."""

GAP = " […] "


def relevant(text: str, question: str, limit: int = MAX_PAGE_CHARS) -> str:
    r"""Return the passages of a text most relevant to a question, in the order of the text, within `limit` characters.

    >>> page = "About us.\n" + "Cups cost " * 99 + ".\nGold costs 150 million dong today.\n" + "Bye. " * 99
    >>> relevant(page, "price of gold today", 40)
    'Gold costs 150 million dong today.'
    """
    if len(text) <= limit:
        return text.strip()
    passages = _passages(text, min(_PASSAGE_CHARS, limit))
    scores = _scores(passages, question)
    # irrelevant passages only fill the prompt
    worth = [place for place, score in enumerate(scores) if score > 0]
    chosen: list[int] = []
    room = limit
    for place in sorted(worth, key=lambda place: (-scores[place], place)):
        cost = len(passages[place]) + len(GAP)
        if cost - len(GAP) * (not chosen) <= room:
            chosen.append(place)
            room -= cost
    chosen.sort()
    parts = [("\n" if place == before + 1 else GAP) + passages[place] for before, place in pairwise(chosen)]
    return "".join([passages[place] for place in chosen[:1]] + parts)


def is_copy(text: str, others: Sequence[str]) -> bool:
    """Return true if a text nearly repeats another one.

    >>> is_copy("The price of gold rose by two per cent today", ["THE PRICE of gold rose by two per cent today!"])
    True
    """
    mine = _triples(text)
    return any(
        len(mine & theirs) >= _NEARLY * min(len(mine), len(theirs)) > 0 for theirs in (_triples(it) for it in others)
    )


def _triples(text: str) -> set[tuple[str, ...]]:
    said = index_words(text)
    return {tuple(said[place : place + 3]) for place in range(max(1, len(said) - 2))} if said else set()


def _passages(text: str, size: int) -> list[str]:
    """Cut a text into pieces of about a size: short lines joined, long ones cut at the end of a sentence."""
    pieces: list[str] = []
    for line in (line.strip() for line in text.split("\n")):
        while len(line) > size:
            cut = max(line.rfind(mark, size // 2, size) for mark in (". ", "! ", "? ", "。", "; ", ", ", " "))
            cut = size - 1 if cut < 0 else cut
            pieces.append(line[: cut + 1].strip())
            line = line[cut + 1 :].strip()
        if line and pieces and len(pieces[-1]) + len(line) < size // 2:
            pieces[-1] += "\n" + line
        elif line:
            pieces.append(line)
        if len(pieces) >= _MAX_PASSAGES:
            break
    return pieces[:_MAX_PASSAGES]


def _scores(passages: Sequence[str], question: str) -> list[float]:
    """Score passages by BM25 among themselves, with a bonus for the beginning."""
    wanted = set(index_terms(question))
    counts = [Counter(term for term in index_terms(passage) if term in wanted) for passage in passages]
    having = Counter(term for count in counts for term in count)
    total = len(passages)
    weights = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in having.items()}
    scores = [sum(weights[term] * n * 2.2 / (n + 1.2) for term, n in count.items()) for count in counts]
    # of the first three passages, the first most
    return [score + _LEAD * max(0.0, 1 - place / 3) for place, score in enumerate(scores)]
