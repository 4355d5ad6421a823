"""Text of the found pages, each once, fetched or as the engine shows it."""

from __future__ import annotations

import asyncio
import atexit
import re
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from react_mem.memory import telemetry
from react_mem.memory.context import WebPage
from react_mem.tools.web.clean import (
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    Article,
    MissingPackage,
    is_copy,
    relevant,
    without_entities,
)
from react_mem.tools.web.cleaner import CleanerStopped, PageCleaner
from react_mem.tools.web.engines import Attempt, WebHit
from react_mem.tools.web.fetch import PageError, PageFetcher, PageRefused, cited, same_page

_LAST = 0.2
"""Seconds reserved for the work after the pages; measured: 20 ms for six of them."""

_CLEANERS = 2
"""Pages cleaned at a time, each in a process with a thread of its own: a hostile page must not take the threads of the
whole process.
"""

_MAX_KEY_CHARS = 100
_MAY_BE_MARKUP = re.compile(r"<[A-Za-z/!?]")


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
        text = await self._snippet(attempt, hit.text[: 5 * MAX_TEXT_CHARS])
        title = " ".join((await self._snippet(attempt, hit.title)).split())[:MAX_TITLE_CHARS]
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

    async def _snippet(self, attempt: Attempt, text: str) -> str:
        """Return an engine's or retriever's text without its markup; empty where that cannot be taken out."""
        if not _MAY_BE_MARKUP.search(text):
            return without_entities(text)
        # the other half is for the page
        seconds = attempt.left() / 2
        try:
            return str((await _in_thread(lambda: _cleaner().clean(text, seconds, snippet=True))).text)
        except (CleanerStopped, MissingPackage, TimeoutError) as error:
            attempt.missing["pages"] = str(error) or "it took too long to read them"
            return ""

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
