"""Searching the web for a question: whether, with what words, and what the pages say about it."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from cachetools import TTLCache
from langchain_core.language_models import BaseChatModel

from react_mem.memory import telemetry
from react_mem.memory.context import WebAnswer, WebPage, WebSettings
from react_mem.tools.web.attempt import Attempt
from react_mem.tools.web.decision import MAX_SECONDS, model_says_yes
from react_mem.tools.web.engines import Engine, engine_named
from react_mem.tools.web.failover import Engines
from react_mem.tools.web.fetch import PageFetcher
from react_mem.tools.web.privacy import Outgoing, outgoing
from react_mem.tools.web.reader import PageReader
from react_mem.tools.web.trigger import decide

Trigger = Literal["keywords", "model", "none"]

_SPARE = 3
"""Pages asked for beyond those wanted: some cannot be read, and some say what another says."""

_MAX_HITS = 20
"""Most results of Tavily."""

_MODEL_SHARE = 0.3
"""Of all the time: what the model may take to decide."""

_NOTHING: Mapping[str, str] = MappingProxyType({})

log = logging.getLogger(__name__)


class WebSearch:
    """Searches the web. One of these serves a whole process: it keeps what was found and which engines fail.

    Args:
        settings: When and where.
        engines: Instead of those that the settings name.
        fetcher: Fetches pages; by default from the public internet and nowhere else.
        clock: What engines rest and results age by, in seconds.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        engines: Sequence[Engine] | None = None,
        fetcher: PageFetcher | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        named = engines if engines is not None else [engine_named(name) for name in dict.fromkeys(settings.engines)]
        self._engines = Engines(named, clock=clock)
        self._reader = PageReader((fetcher or PageFetcher()) if settings.fetch_pages else None)
        self._cache = TTLCache[str, tuple[WebPage, ...]](
            settings.cache_bytes, settings.cache_seconds, timer=clock, getsizeof=_size
        )
        # a server may run event loops of its own for background work
        self._cache_lock = threading.Lock()

    async def search(
        self,
        question: str,
        *,
        profile_values: Mapping[str, str] = _NOTHING,
        models: Sequence[BaseChatModel] = (),
        now: datetime,
    ) -> WebAnswer:
        """Search the web for a user's message, if it needs that. It never raises; what failed is in the answer.

        Args:
            question: The message.
            profile_values: What is known of the user, by field; of it, what identifies them is not sent.
            models: The small model, which decides where the words do not, then those that stand in for it.
            now: When it is asked.

        Returns:
            The pages, the best first.
        """
        if not self._settings.enabled:
            return WebAnswer()
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        missing: dict[str, str] = {}
        trigger, decided_by = await self._decide(question, models, now, missing)
        telemetry.count("web_search.decisions", decided_by=decided_by, searched="no" if trigger == "none" else "yes")
        if trigger == "none":
            return WebAnswer(missing=missing)
        return await self._run(question, question, profile_values, now, deadline, trigger)

    async def look_up(
        self, query: str, *, asked: str = "", profile_values: Mapping[str, str] = _NOTHING, now: datetime
    ) -> WebAnswer:
        """Search the web for what a model wants to know. It never raises; what failed is in the answer.

        Args:
            query: What to search for.
            asked: The user's message: what of the user it asks for by name may be in the query.
            profile_values: What is known of the user, by field; of it, what identifies them is not sent.
            now: When it is asked.

        Returns:
            The pages, the best first.
        """
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        return await self._run(query, asked, profile_values, now, deadline, "model")

    async def _decide(
        self, question: str, models: Sequence[BaseChatModel], now: datetime, missing: dict[str, str]
    ) -> tuple[Trigger, str]:
        """Return whether to search, and what decided it."""
        settings = self._settings
        by_words = decide(question, now=now, domain_terms=settings.domain_terms, threshold=settings.keyword_threshold)
        if by_words != "ask":
            return ("keywords" if by_words == "search" else "none"), "keywords"
        if not models or not settings.ask_model:
            return "none", "default"
        try:
            seconds = min(MAX_SECONDS, _MODEL_SHARE * settings.timeout)
            yes = await model_says_yes(models, question, now=now, seconds=seconds)
        except Exception as error:  # whatever a model's client raises
            log.warning("the model could not decide whether to search the web: %s", type(error).__name__)
            missing["decision"] = f"the model could not be asked ({type(error).__name__})"
            return "none", "error"
        return ("model" if yes else "none"), "model"

    async def _run(
        self,
        query: str,
        asked: str,
        profile_values: Mapping[str, str],
        now: datetime,
        deadline: float,
        trigger: Trigger,
    ) -> WebAnswer:
        sent = outgoing(query, profile_values, asked=asked, protect=self._settings.private_queries)
        if not sent.text:
            cause = "nothing is left of it without what is private" if sent.taken else "it is empty"
            return WebAnswer(trigger=trigger, missing={"query": f"nothing was searched for: {cause}"})
        attempt = Attempt(sent.text, now, deadline)
        pages: tuple[WebPage, ...] = ()
        with telemetry.span("web_search") as measured:
            try:
                async with asyncio.timeout_at(deadline):
                    pages = await self._pages(attempt, sent)
            except TimeoutError as error:
                measured.failed(error)
                attempt.missing["search"] = f"it took longer than {self._settings.timeout:g} s"
            except Exception as error:  # a failing search never fails a turn
                measured.failed(error)
                # without what it says: that may be content
                log.error("searching the web failed: %s", type(error).__name__)
                attempt.missing["search"] = f"it failed ({type(error).__name__})"
            measured.set(pages=len(pages))
        if not pages:
            telemetry.count("degradations", part="web_search")
        return WebAnswer(pages=pages, query=sent.text, trigger=trigger, missing=attempt.missing)

    async def _pages(self, attempt: Attempt, sent: Outgoing) -> tuple[WebPage, ...]:
        key = " ".join(attempt.query.casefold().split())
        with self._cache_lock:
            kept = self._cache.get(key)
        hit = "no" if kept is None else "yes"
        telemetry.count("web_search.cache", hit=hit)
        telemetry.count("cache.lookups", cache="page", hit=hit)
        if kept is not None:
            return kept
        wanted = self._settings.max_results
        hits, engine = await self._engines.find(attempt, min(_MAX_HITS, wanted + _SPARE))
        if engine is None:
            return ()
        pages = await self._reader.read(attempt, hits, engine.name, wanted)
        # what was found for a query that names somebody, or by an engine that looks at who asks, is theirs
        if pages and engine.is_shared and not sent.private and _size(pages) <= self._settings.cache_bytes:
            with self._cache_lock:
                self._cache[key] = pages
                size = int(self._cache.currsize)
            telemetry.record("cache.bytes", size, cache="page")
        return pages


def _size(pages: Sequence[WebPage]) -> int:
    return sum(sys.getsizeof(page.text) + sys.getsizeof(page.title) + sys.getsizeof(page.url) for page in pages)


@lru_cache(maxsize=16)
def web_search(settings: WebSettings) -> WebSearch:
    """Return the search of this process for these settings: what it found and which engines fail is known to all."""
    return WebSearch(settings)
