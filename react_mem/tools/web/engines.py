"""Search engines, each behind a circuit breaker: a query to addresses, titles and texts of pages, with failover."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import math
import os
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

import httpx
from langchain_core.documents import Document

from react_mem.memory import telemetry
from react_mem.tools.web.clean import MissingPackage

_TAVILY_URL = "https://api.tavily.com"
_GOOGLE_URL = "https://www.googleapis.com/customsearch/v1"


@dataclass(frozen=True)
class WebHit:
    """A page that an engine found, with the engine's text, date and own relevance; whole if no more can be fetched."""

    url: str
    title: str = ""
    text: str = ""
    published: str = ""
    score: float | None = None
    is_whole: bool = False


class EngineMissing(Exception):  # noqa: N818 - nothing went wrong
    """Error for an engine without its key or package; the message names it."""


class EngineError(Exception):
    """Error of an engine; the message holds neither the query nor a key."""


@dataclass(frozen=True)
class Engine:
    """A search engine by its name in a config; results of one that answers every user alike are cached for all.

    `find` returns at most so many pages for a query, the best first; it raises EngineMissing without a key or package,
    else EngineError.
    """

    name: str
    find: Callable[[str, int], Awaitable[list[WebHit]]]
    is_shared: bool = True


async def _tavily(query: str, limit: int) -> list[WebHit]:
    """Ask Tavily through its own client. It needs TAVILY_API_KEY; TAVILY_BASE_URL names another server."""
    key = _setting("TAVILY_API_KEY")
    try:
        # it takes a second to import
        tavily: Any = await asyncio.to_thread(importlib.import_module, "tavily")
    except ImportError as error:
        raise MissingPackage("tavily-python") from error
    url, tls = os.environ.get("TAVILY_BASE_URL") or _TAVILY_URL, await asyncio.to_thread(_tls)
    # a client of its own each time: connections belong to an event loop, and a server may run several
    async with httpx.AsyncClient(base_url=url, verify=tls) as http:
        try:
            answer = await tavily.AsyncTavilyClient(api_key=key, client=http).search(query, max_results=limit)
        except tavily.errors.UsageLimitExceededError as error:
            raise EngineError("it has been asked too often (429)") from error
        except (tavily.errors.InvalidAPIKeyError, tavily.errors.ForbiddenError) as error:
            raise EngineError("it refuses TAVILY_API_KEY") from error
    return [_hit(it, "url", "title", "content", "published_date") for it in _results(answer, "results")]


_DUCKDUCKGO_SECONDS = 5
"""Time limit inside ddgs, the only way to stop it."""


def _duckduckgo(query: str, limit: int) -> list[WebHit]:
    """Ask DuckDuckGo through ddgs, which blocks. It needs no key."""
    try:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
    except ImportError as error:
        raise MissingPackage("ddgs") from error
    try:
        # the deployment has not chosen the other engines of ddgs
        found = DDGS(timeout=_DUCKDUCKGO_SECONDS).text(query, region="wt-wt", max_results=limit, backend="duckduckgo")
    except TimeoutException as error:
        raise TimeoutError from error
    except RatelimitException as error:
        raise EngineError("it has been asked too often") from error
    except DDGSException as error:
        if "No results" in str(error):
            return []
        raise EngineError("it cannot be reached") from error
    return [_hit(it, "href", "title", "body") for it in found]


async def _google(query: str, limit: int) -> list[WebHit]:
    """Ask Google Programmable Search. It needs GOOGLE_API_KEY and GOOGLE_CSE_ID."""
    key, engine = _setting("GOOGLE_API_KEY"), _setting("GOOGLE_CSE_ID")
    request = httpx.Request(
        "GET",
        _GOOGLE_URL,
        # ten is the most of a request, by its documentation
        params={"q": query, "cx": engine, "num": min(limit, 10)},
        # not in the address: those are logged on the way
        headers={"x-goog-api-key": key},
    )
    answer = await _ask(request, refused="it refuses GOOGLE_API_KEY or GOOGLE_CSE_ID")
    found = _results(answer, "items")
    return [replace(_hit(it, "link", "title", "snippet"), published=_google_date(it)) for it in found]


async def _searxng(query: str, limit: int) -> list[WebHit]:
    """Ask a SearXNG server. It needs SEARXNG_URL."""
    url = _setting("SEARXNG_URL").rstrip("/")
    answer = await _ask(
        httpx.Request("POST", f"{url}/search", data={"q": query, "format": "json"}),
        refused="it refuses JSON; add json to search.formats in its settings.yml",
    )
    return [_hit(it, "url", "title", "content", "publishedDate") for it in _results(answer, "results")[:limit]]


class _Retriever:
    """A LangChain retriever by "package.module:attribute", or a function without arguments that returns one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._retriever: Any = None

    async def find(self, query: str, limit: int) -> list[WebHit]:
        if self._retriever is None:
            self._retriever = await asyncio.to_thread(self._load)
        documents: Sequence[Document] = await self._retriever.ainvoke(query)
        return [self._found(document, place) for place, document in enumerate(documents[:limit], 1)]

    def _load(self) -> Any:
        module, _, attribute = self._path.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
            found = found if hasattr(found, "ainvoke") else found()
        except Exception as error:  # whatever a module of somebody else raises
            raise EngineMissing(f"{self._path} cannot be loaded: {type(error).__name__}: {error}") from error
        if not hasattr(found, "ainvoke"):
            raise EngineMissing(f"{self._path} is a {type(found).__name__}, not a LangChain retriever")
        return found

    def _found(self, document: Document, place: int) -> WebHit:
        told = {**document.metadata, "text": document.page_content}
        urls = (_text(told, name) for name in ("url", "source", "link"))
        hit = _hit(told, "url", "title", "text", "published")
        return replace(
            hit,
            url=next(filter(None, urls), f"{self._path}#{place}"),
            published=hit.published or _text(told, "date"),
            is_whole=True,
        )


_ENGINES: dict[str, Callable[[str, int], Awaitable[list[WebHit]]]] = {
    "tavily": _tavily,
    "duckduckgo": lambda query, limit: asyncio.to_thread(_duckduckgo, query, limit),
    "google": _google,
    "searxng": _searxng,
}


def engine_named(name: str) -> Engine:
    """Return an engine by its name in a config.

    >>> engine_named("google").is_shared, engine_named("my_package.search:retriever").is_shared
    (True, False)
    """
    # a retriever may look at who asks
    return Engine(name, _ENGINES[name]) if name in _ENGINES else Engine(name, _Retriever(name).find, is_shared=False)


async def _ask(request: httpx.Request, *, refused: str) -> Any:
    # without httpx.Client, which logs whole addresses with the query
    async with httpx.AsyncHTTPTransport(verify=await asyncio.to_thread(_tls)) as transport:
        response = await transport.handle_async_request(request)
        body = await response.aread()
    if response.status_code in (401, 403):
        raise EngineError(refused)
    if response.status_code == 429:
        raise EngineError("it has been asked too often (429)")
    if response.status_code != 200:
        raise EngineError(f"it answers with status {response.status_code}")
    try:
        return json.loads(body)
    except ValueError as error:
        raise EngineError("its answer is not JSON") from error


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _setting(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise EngineMissing(f"{name} is not set")
    return value


def _results(answer: Any, key: str) -> list[Mapping[str, Any]]:
    found = answer.get(key) if isinstance(answer, Mapping) else None
    if found is None and isinstance(answer, Mapping):
        return []
    if not isinstance(found, list):
        raise EngineError("its answer is not of the form that it documents")
    return [it for it in found if isinstance(it, Mapping)]


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value.strip() if isinstance(value, str) else ""


def _hit(item: Mapping[str, Any], url: str, title: str, text: str, published: str = "") -> WebHit:
    """Return a result of an engine, by the engine's names of the parts."""
    score = item.get("score")
    relevance = float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None
    return WebHit(_text(item, url), _text(item, title), _text(item, text), _text(item, published), relevance)


def _google_date(item: Mapping[str, Any]) -> str:
    match item:
        case {"pagemap": {"metatags": [{"article:published_time": str(date)}, *_]}}:
            return date.strip()
    return ""


@dataclass
class Attempt:
    """State of one search: its deadline by the event loop's clock, and the failures so far with their causes."""

    query: str
    now: datetime
    deadline: float
    missing: dict[str, str] = field(default_factory=dict)

    def left(self) -> float:
        """Return the remaining seconds."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())


FAILURES = 3
"""Failures in a row that open the circuit. One is chance, and a second may be the same hiccup."""

REST = 60.0
"""Seconds. Rate limits of engines are by the minute."""

_SHARE = 0.5
"""Share of the remaining time for one engine, so that the next one and the pages have some too."""

log = logging.getLogger(__name__)


class Engines:
    """Engines in the order of failover.

    One that failed `FAILURES` times in a row rests for `REST` seconds; then one call tries it, while others avoid it.
    """

    def __init__(self, engines: Sequence[Engine], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._engines = engines
        self._clock = clock
        self._failures: Counter[str] = Counter()
        self._rests_until = {engine.name: -math.inf for engine in engines}

    async def find(self, attempt: Attempt, limit: int) -> tuple[list[WebHit], Engine | None]:
        """Ask the engines in turn until one finds something; return its hits with it, else nothing and None."""
        for engine in self._engines:
            left = self._rests_until[engine.name] - self._clock()
            if left > 0:
                attempt.missing[engine.name] = f"left alone for {left:.0f} s: it failed before"
                continue
            self._rest(engine)
            hits = await self._ask(engine, attempt, limit)
            is_open = self._failures[engine.name] >= FAILURES
            telemetry.record("breaker.open", float(is_open), guards="web_engine", name=_label(engine))
            if hits:
                return hits, engine
            telemetry.count("degradations", part="web_engine")
        return [], None

    async def _ask(self, engine: Engine, attempt: Attempt, limit: int) -> list[WebHit]:
        seconds = _SHARE * attempt.left()
        try:
            with telemetry.span("web_engine", engine=_label(engine)) as measured:
                async with asyncio.timeout(seconds):
                    found = await engine.find(attempt.query, limit)
                measured.set(results=len(found))
        except (EngineMissing, MissingPackage) as error:
            attempt.missing[engine.name] = str(error)
        except Exception as error:  # whatever an engine's client raises
            self._failures[engine.name] += 1
            self._rest(engine)
            attempt.missing[engine.name] = _cause(error, seconds)
            log.warning("the search engine %s failed: %s", engine.name, type(error).__name__)
        else:
            self._failures[engine.name] = 0
            self._rests_until[engine.name] = -math.inf
            if not found:
                attempt.missing[engine.name] = "it found nothing"
            return found
        return []

    def _rest(self, engine: Engine) -> None:
        if self._failures[engine.name] >= FAILURES:
            self._rests_until[engine.name] = self._clock() + REST


def _label(engine: Engine) -> str:
    # an attribute's name: a path may be longer than telemetry's names
    return engine.name.rpartition(":")[2]


def _cause(error: Exception, seconds: float) -> str:
    """Return the cause of a failure; of a client's own message only the type, since it may hold a key or the query."""
    if isinstance(error, TimeoutError):
        return f"it took longer than {seconds:.1f} s"
    return str(error) if isinstance(error, EngineError) else f"it failed ({type(error).__name__})"
