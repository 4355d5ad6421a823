"""Text of the found pages, each once, fetched or as the engine shows it."""

from __future__ import annotations

import asyncio
import atexit
import html
import re
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from react_mem.memory import telemetry
from react_mem.memory.context import WebPage
from react_mem.tools.web.clean import (
    BLOCK_TAGS,
    HIDDEN_STYLE,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    SILENT_TAGS,
    Article,
    is_copy,
    relevant,
)
from react_mem.tools.web.cleaner import CleanerStopped, PageCleaner
from react_mem.tools.web.engines import Attempt, WebHit
from react_mem.tools.web.fetch import PageFetcher
from react_mem.tools.web.missing import MissingPackage
from react_mem.tools.web.network import PageError, PageRefused, cited, same_page

# Markup of an engine's or retriever's text: removal of tags, comments and entities.

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
    """Return a text without its markup, a block a line; a text without markup stays unchanged.

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
    """Return true if a mark is a tag: an HTML tag, or one that is closed too, such as an engine's `<hl>`."""
    # at the end, where a text is cut, a tag has an attribute or nothing: "a <b or c" is no tag
    return (name in _NAMES or name in closed) and bool(
        mark["end"] or not mark["attributes"] or "=" in mark["attributes"]
    )


def _is_silent(mark: re.Match[str], name: str, closed: dict[str, int]) -> bool:
    """Return true if the contents of a tag are invisible to a reader."""
    if closed.get(name, -1) < mark.start():
        return False
    return name in SILENT_TAGS or any(
        found[1] is None or HIDDEN_STYLE.search(re.sub(r"\s", "", found[1][1:]).lower())
        for found in _HIDES.finditer(mark["attributes"])
    )


_LAST = 0.2
"""Seconds reserved for the work after the pages; measured: 20 ms for six of them."""

_CLEANERS = 2
"""Pages cleaned at a time, each in a process with a thread of its own: a hostile page must not take the threads of the
whole process.
"""

_MAX_KEY_CHARS = 100


class PageReader:
    """Reader of pages."""

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher

    async def read(self, attempt: Attempt, hits: Sequence[WebHit], engine: str, limit: int) -> tuple[WebPage, ...]:
        """Read hits, the best first, concurrently; return the best pages in order, each address and each text once."""
        reads: dict[str, Coroutine[Any, Any, WebPage | None]] = {}
        for place, hit in enumerate(hits, 1):
            url = hit.url if hit.is_whole else cited(hit.url)
            if not url:
                attempt.missing[hit.url[:_MAX_KEY_CHARS] or engine] = "it is not the address of a web page"
            elif same_page(url) not in reads:
                ranked = replace(hit, url=url, score=1 / place if hit.score is None else hit.score)
                reads[same_page(url)] = self._page(attempt, ranked, engine)
        pages = [page for page in await asyncio.gather(*reads.values()) if page is not None]
        best: tuple[WebPage, ...] = await _in_thread(_best, pages, limit)
        return best

    async def _page(self, attempt: Attempt, hit: WebHit, engine: str) -> WebPage | None:
        """Return a fetched page, else the engine's text of it; None for no text, or for a forbidden address."""
        url = hit.url
        # passages are chosen from far less
        text = await _in_thread(without_markup, hit.text[: 5 * MAX_TEXT_CHARS])
        title = " ".join((await _in_thread(without_markup, hit.title)).split())[:MAX_TITLE_CHARS]
        shown = Article(text, title, hit.published[:10])
        if not hit.is_whole:
            try:
                with telemetry.span("web_page"):
                    url, article = await self._fetched(attempt, hit.url)
                shown = Article(article.text, article.title or shown.title, article.published or shown.published)
            except PageError as error:
                telemetry.count("web_page.refused", reason=error.reason)
                attempt.missing[hit.url] = str(error)
                if isinstance(error, PageRefused):
                    # the engine's text of a forbidden address is not trusted either
                    return None
            except MissingPackage as error:
                attempt.missing["pages"] = str(error)
            except Exception as error:  # whatever a parser makes of a page
                attempt.missing[hit.url] = f"it cannot be read ({type(error).__name__})"
        text = await _in_thread(relevant, shown.text, attempt.query)
        if not text:
            return None
        return WebPage(
            url=url,
            title=shown.title,
            text=text,
            published=shown.published,
            fetched_at=attempt.now,
            engine=engine,
            score=hit.score or 0.0,
        )

    async def _fetched(self, attempt: Attempt, url: str) -> tuple[str, Article]:
        seconds = max(0.0, attempt.left() - _LAST)
        _, page = await asyncio.gather(
            _in_thread(lambda: _cleaner().start()), self._fetcher.fetch(url, seconds=seconds)
        )
        until = time.monotonic() + attempt.left() - _LAST
        try:
            article = Article(page.text)
            if page.is_html:
                article = await _in_thread(lambda: _cleaner().clean(page.text, until - time.monotonic()))
        except TimeoutError as error:
            raise PageError("time", f"it took longer than {seconds:.1f} s") from error
        except CleanerStopped as error:
            raise PageError("size", str(error)) from error
        if not article.text.strip():
            raise PageError("empty", "it holds no text")
        return cited(page.url) or url, article


def _best(pages: Sequence[WebPage], limit: int) -> tuple[WebPage, ...]:
    kept: list[WebPage] = []
    for page in sorted(pages, key=lambda page: -page.score):
        # two addresses may redirect to one
        known = {same_page(other.url) for other in kept}
        if same_page(page.url) not in known and not is_copy(page.text, [other.text for other in kept]):
            kept.append(page)
        if len(kept) == limit:
            break
    return tuple(kept)


async def _in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, *arguments)


_own = threading.local()
_THREADS = ThreadPoolExecutor(_CLEANERS, thread_name_prefix="web-pages")


def _cleaner() -> PageCleaner:
    if not hasattr(_own, "cleaner"):
        _own.cleaner = PageCleaner()
        atexit.register(_own.cleaner.close)
    cleaner: PageCleaner = _own.cleaner
    return cleaner
