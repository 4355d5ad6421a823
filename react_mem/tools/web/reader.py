"""Pages that an engine found, as text, each once, or as the engine shows them."""

from __future__ import annotations

import asyncio
import atexit
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from queue import SimpleQueue
from typing import Any

from react_mem.memory import telemetry
from react_mem.memory.context import WebPage
from react_mem.tools.web.attempt import Attempt
from react_mem.tools.web.clean import MAX_TEXT_CHARS, MAX_TITLE_CHARS, Article
from react_mem.tools.web.cleaner import CleanerStopped, PageCleaner
from react_mem.tools.web.engines import WebHit
from react_mem.tools.web.fetch import PageFetcher
from react_mem.tools.web.missing import MissingPackage
from react_mem.tools.web.network import PageError, PageRefused
from react_mem.tools.web.passages import is_copy, relevant
from react_mem.tools.web.snippets import without_markup
from react_mem.tools.web.urls import cited, same_page

_LAST = 0.2
"""Seconds kept for what comes after the pages; measured: 20 ms for six of them."""

_CLEANERS = 2
"""Pages that are read at the same time, each in a process and waited for in a thread of its own: a hostile page must
not take the threads of the whole process."""

_MAX_KEY_CHARS = 100


class PageReader:
    """Reads pages.

    Args:
        fetcher: Fetches them; None where they are taken as an engine shows them.
    """

    def __init__(self, fetcher: PageFetcher | None) -> None:
        self._fetcher = fetcher

    async def read(self, attempt: Attempt, hits: Sequence[WebHit], engine: str, limit: int) -> tuple[WebPage, ...]:
        """Read what an engine found, all at once.

        Args:
            attempt: The search; what cannot be read is noted in it.
            hits: What was found, the best first.
            engine: Who found it.
            limit: Pages at most.

        Returns:
            The best pages, the best first, each address and each text once.
        """
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
        """Return a page as it is, else as the engine shows it; None where that is nothing, or it must not be read."""
        shown: Article = await _in_thread(_shown, hit)
        url = hit.url
        if self._fetcher is not None and not hit.is_whole:
            try:
                with telemetry.span("web_page"):
                    url, article = await self._fetched(self._fetcher, attempt, hit.url)
                shown = Article(article.text, article.title or shown.title, article.published or shown.published)
            except PageError as error:
                telemetry.count("web_page.refused", reason=error.reason)
                attempt.missing[hit.url] = str(error)
                if isinstance(error, PageRefused):
                    # what leads where it should not is not to be trusted in what an engine shows of it either
                    return None
            except MissingPackage as error:
                attempt.missing["pages"] = str(error)
            except Exception as error:  # whatever a parser makes of a page
                attempt.missing[hit.url] = f"it cannot be read ({type(error).__name__})"
        text: str = await _in_thread(relevant, shown.text, attempt.query)
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

    async def _fetched(self, fetcher: PageFetcher, attempt: Attempt, url: str) -> tuple[str, Article]:
        seconds = max(0.0, attempt.left() - _LAST)
        _, page = await asyncio.gather(_in_thread(_start), fetcher.fetch(url, seconds=seconds))
        until = time.monotonic() + attempt.left() - _LAST
        try:
            article: Article = await _in_thread(_clean, page.text, until) if page.is_html else Article(page.text)
        except TimeoutError as error:
            raise PageError("time", f"it took longer than {seconds:.1f} s") from error
        except CleanerStopped as error:
            raise PageError("size", str(error)) from error
        if not article.text.strip():
            raise PageError("empty", "it holds no text")
        return cited(page.url) or url, article


def _shown(hit: WebHit) -> Article:
    """Return what an engine shows of a page, as text."""
    title = " ".join(without_markup(hit.title).split())[:MAX_TITLE_CHARS]
    # passages are chosen from far less
    return Article(without_markup(hit.text[: 5 * MAX_TEXT_CHARS]), title, hit.published[:10])


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
    return await asyncio.get_running_loop().run_in_executor(_threads(), work, *arguments)


def _start() -> None:
    """Have a process at hand for a page that is being fetched."""
    cleaner = _cleaners().get()
    try:
        cleaner.start()
    finally:
        _cleaners().put(cleaner)


def _clean(markup: str, until: float) -> Article:
    cleaner = _cleaners().get()
    try:
        return cleaner.clean(markup, until - time.monotonic())
    finally:
        _cleaners().put(cleaner)


@cache
def _cleaners() -> SimpleQueue[PageCleaner]:
    """Return the processes that nobody uses now."""
    free: SimpleQueue[PageCleaner] = SimpleQueue()
    for _ in range(_CLEANERS):
        cleaner = PageCleaner()
        atexit.register(cleaner.close)
        free.put(cleaner)
    return free


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_CLEANERS, thread_name_prefix="web-pages")
