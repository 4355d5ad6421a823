"""Search engines, each behind a circuit breaker: a query to addresses, titles and texts of pages, with failover."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Protocol

import httpx
from langchain_core.documents import Document

from react_mem.memory import telemetry
from react_mem.tools.web.missing import MissingPackage

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


class Engine(Protocol):
    """A search engine by its name in a config; results of one that answers every user alike are cached for all."""

    name: str
    is_shared: bool = True

    async def find(self, query: str, limit: int) -> list[WebHit]:
        """Return at most `limit` pages, the best first; EngineMissing without a key or package, else EngineError."""


class Tavily(Engine):
    """Tavily, through its own client. It needs TAVILY_API_KEY; TAVILY_BASE_URL names another server."""

    name = "tavily"

    async def find(self, query: str, limit: int) -> list[WebHit]:
        """Search (see `Engine`)."""
        key = _setting("TAVILY_API_KEY")
        try:
            # it takes a second to import
            tavily: Any = await asyncio.to_thread(importlib.import_module, "tavily")
        except ImportError as error:
            raise MissingPackage("tavily-python") from error
        errors = tavily.errors
        # a client of its own each time: connections belong to an event loop, and a server may run several
        async with httpx.AsyncClient(
            base_url=os.environ.get("TAVILY_BASE_URL") or _TAVILY_URL, verify=await asyncio.to_thread(_tls)
        ) as http:
            client = tavily.AsyncTavilyClient(api_key=key, client=http)
            try:
                answer = await client.search(query, max_results=limit)
            except errors.UsageLimitExceededError as error:
                raise EngineError("it has been asked too often (429)") from error
            except (errors.InvalidAPIKeyError, errors.ForbiddenError) as error:
                raise EngineError("it refuses TAVILY_API_KEY") from error
        return [_hit(it, "url", "title", "content", "published_date") for it in _results(answer, "results")]


class DuckDuckGo(Engine):
    """DuckDuckGo, through ddgs, in a thread. It needs no key."""

    name = "duckduckgo"
    _seconds = 5
    """Time limit inside ddgs, the only way to stop it."""

    async def find(self, query: str, limit: int) -> list[WebHit]:
        """Search (see `Engine`)."""
        found = await asyncio.to_thread(self._find, query, limit)
        return [WebHit(_text(it, "href"), _text(it, "title"), _text(it, "body")) for it in found]

    def _find(self, query: str, limit: int) -> list[Mapping[str, Any]]:
        try:
            from ddgs import DDGS
            from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
        except ImportError as error:
            raise MissingPackage("ddgs") from error
        try:
            # the deployment has not chosen the other engines of ddgs
            return list(
                DDGS(timeout=self._seconds).text(query, region="wt-wt", max_results=limit, backend="duckduckgo")
            )
        except TimeoutException as error:
            raise TimeoutError from error
        except RatelimitException as error:
            raise EngineError("it has been asked too often") from error
        except DDGSException as error:
            if "No results" in str(error):
                return []
            raise EngineError("it cannot be reached") from error


class Google(Engine):
    """Google Programmable Search. It needs GOOGLE_API_KEY and GOOGLE_CSE_ID."""

    name = "google"
    _most = 10
    """Maximal results of a request, by its documentation."""

    async def find(self, query: str, limit: int) -> list[WebHit]:
        """Search (see `Engine`)."""
        key, engine = _setting("GOOGLE_API_KEY"), _setting("GOOGLE_CSE_ID")
        answer = await _ask(
            httpx.Request(
                "GET",
                _GOOGLE_URL,
                params={"q": query, "cx": engine, "num": min(limit, self._most)},
                # not in the address: those are logged on the way
                headers={"x-goog-api-key": key},
            ),
            refused="it refuses GOOGLE_API_KEY or GOOGLE_CSE_ID",
        )
        return [
            WebHit(_text(it, "link"), _text(it, "title"), _text(it, "snippet"), _google_date(it))
            for it in _results(answer, "items")
        ]


class SearXNG(Engine):
    """A SearXNG server. It needs SEARXNG_URL."""

    name = "searxng"

    async def find(self, query: str, limit: int) -> list[WebHit]:
        """Search (see `Engine`)."""
        url = _setting("SEARXNG_URL").rstrip("/")
        answer = await _ask(
            httpx.Request("POST", f"{url}/search", data={"q": query, "format": "json"}),
            refused="it refuses JSON; add json to search.formats in its settings.yml",
        )
        found = _results(answer, "results")[:limit]
        return [_hit(it, "url", "title", "content", "publishedDate") for it in found]


class Retriever(Engine):
    """A LangChain retriever by "package.module:attribute", or a function without arguments that returns one."""

    # a retriever may look at who asks
    is_shared = False

    def __init__(self, path: str) -> None:
        self.name = path
        self._path = path
        self._retriever: Any = None

    async def find(self, query: str, limit: int) -> list[WebHit]:
        """Search (see `Engine`)."""
        if self._retriever is None:
            self._retriever = await asyncio.to_thread(self._load)
        documents: Sequence[Document] = await self._retriever.ainvoke(query)
        return [_from_document(document, self._path, place) for place, document in enumerate(documents[:limit], 1)]

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


_ENGINES = {engine.name: engine for engine in (Tavily, DuckDuckGo, Google, SearXNG)}


def engine_named(name: str) -> Engine:
    """Return an engine by its name in a config.

    >>> engine_named("google").name, engine_named("my_package.search:retriever").name
    ('google', 'my_package.search:retriever')
    """
    return _ENGINES[name]() if name in _ENGINES else Retriever(name)


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


def _score(item: Mapping[str, Any]) -> float | None:
    value = item.get("score")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _hit(item: Mapping[str, Any], *names: str) -> WebHit:
    url, title, text, published = (_text(item, name) for name in names)
    return WebHit(url, title, text, published, _score(item))


def _google_date(item: Mapping[str, Any]) -> str:
    match item:
        case {"pagemap": {"metatags": [{"article:published_time": str(date)}, *_]}}:
            return date.strip()
    return ""


def _from_document(document: Document, path: str, place: int) -> WebHit:
    told = document.metadata
    url = _text(told, "url") or _text(told, "source") or _text(told, "link") or f"{path}#{place}"
    return WebHit(
        url,
        _text(told, "title"),
        document.page_content,
        _text(told, "published") or _text(told, "date"),
        _score(told),
        is_whole=True,
    )


# State of one search.


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


# Failover among search engines, each behind a circuit breaker.

# Circuit breaker.

FAILURES = 3
"""Failures in a row that open the circuit. One is chance, and a second may be the same hiccup."""

REST = 60.0
"""Seconds. Rate limits of engines are by the minute."""


class CircuitBreaker:
    """Circuit breaker: `FAILURES` in a row open it for `REST` seconds.

    Then one trial call is admitted, which closes it or opens it again.

    >>> now = 0.0
    >>> breaker = CircuitBreaker(lambda: now)
    >>> breaker.failed(); breaker.failed(); breaker.admits(), breaker.failed(), breaker.admits()
    (True, None, False)
    >>> now = 60.0
    >>> breaker.admits(), breaker.admits()
    (True, False)
    >>> breaker.succeeded(); breaker.admits()
    True
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._trying = False

    @property
    def is_open(self) -> bool:
        """True while calls are held back, a trial aside."""
        return self._opened_at is not None

    def admits(self) -> bool:
        """Return true if a call may be made; the caller must report its outcome."""
        if self._opened_at is None:
            return True
        if self._trying or self._clock() - self._opened_at < REST:
            return False
        self._trying = True
        return True

    def seconds_left(self) -> float:
        """Return the seconds until a trial."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + REST - self._clock())

    def succeeded(self) -> None:
        """Report a success."""
        self._failures = 0
        self._opened_at = None
        self._trying = False

    def failed(self) -> None:
        """Report a failure."""
        self._failures += 1
        if self._trying or self._failures >= FAILURES:
            self._opened_at = self._clock()
        self._trying = False

    def abandoned(self) -> None:
        """Report a call without a result."""
        self._trying = False


_SHARE = 0.5
"""Share of the remaining time for one engine, so that the next one and the pages have some too."""

log = logging.getLogger(__name__)


class Engines:
    """Engines in the order of failover."""

    def __init__(self, engines: Sequence[Engine], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._guarded = [(engine, CircuitBreaker(clock)) for engine in engines]

    async def find(self, attempt: Attempt, limit: int) -> tuple[list[WebHit], Engine | None]:
        """Ask the engines in turn until one finds something; return its hits with it, else nothing and None."""
        for engine, breaker in self._guarded:
            if not breaker.admits():
                attempt.missing[engine.name] = f"left alone for {breaker.seconds_left():.0f} s: it failed before"
                continue
            hits = await _ask_engine(engine, breaker, attempt, limit)
            if hits:
                return hits, engine
            telemetry.count("degradations", part="web_engine")
        return [], None


async def _ask_engine(engine: Engine, breaker: CircuitBreaker, attempt: Attempt, limit: int) -> list[WebHit]:
    seconds = _SHARE * attempt.left()
    outcome = breaker.abandoned
    # an attribute's name: a path may be longer than telemetry's names
    label = engine.name.rpartition(":")[2]
    try:
        with telemetry.span("web_engine", engine=label) as measured:
            async with asyncio.timeout(seconds):
                found = await engine.find(attempt.query, limit)
            measured.set(results=len(found))
        outcome = breaker.succeeded
        if not found:
            attempt.missing[engine.name] = "it found nothing"
        return found
    except (EngineMissing, MissingPackage) as error:
        attempt.missing[engine.name] = str(error)
    except Exception as error:  # whatever an engine's client raises
        outcome = breaker.failed
        attempt.missing[engine.name] = _cause(error, seconds)
        log.warning("the search engine %s failed: %s", engine.name, type(error).__name__)
    finally:
        outcome()
        telemetry.record("breaker.open", float(breaker.is_open), guards="web_engine", name=label)
    return []


def _cause(error: Exception, seconds: float) -> str:
    """Return the cause of a failure; of a client's own message only the type, since it may hold a key or the query."""
    if isinstance(error, TimeoutError):
        return f"it took longer than {seconds:.1f} s"
    return str(error) if isinstance(error, EngineError) else f"it failed ({type(error).__name__})"
