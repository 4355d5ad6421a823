"""Requests to a server: who asks, what is sent, and what the answers are made into."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, TypeVar
from urllib.parse import quote

import httpx
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from react_mem_client.answers import Answer
from react_mem_client.errors import MemoryApiError

Token: TypeAlias = str | Callable[[], str | Awaitable[str]]
"""Bearer token, or what returns one for each request, such as one that is renewed."""

SILENCE_SECONDS = 60.0
"""Seconds without a byte after which a stream is given up; a stream of changes sends a comment every 15."""

_ROUTES = "/memory/v1"

AnswerType = TypeVar("AnswerType", bound=Answer)
Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


@dataclass(frozen=True)
class ServerEvent:
    """Event of a stream.

    Args:
        event: Its kind, such as `revision`.
        data: What it says.
        id: What a stream goes on from it with, as `last_event_id`; empty where it has none.
    """

    event: str
    data: dict[str, Any]
    id: str = ""


class Page(Protocol[Item_co]):
    """Page of a list."""

    @property
    def items(self) -> Sequence[Item_co]:
        """What is on it."""

    @property
    def next_cursor(self) -> str | None:
        """What the next page is asked for with."""


class Transport:
    """Connection to a server as one user.

    Args:
        url: The server, such as `http://127.0.0.1:2024`; `/memory/v1` may stand behind it.
        token: The bearer token of the user, or what returns it.
        user_id: Whose memory it is, where the server authenticates nobody; others ignore it.
        timeout: Seconds to wait for an answer.
        http: A client of httpx to send requests with, which stays open when this is closed; by default one of its own.

    Raises:
        ValueError: If the URL has no scheme.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        user_id: str | None = None,
        timeout: float = 30.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError("the URL of a server begins with http:// or https://, as http://127.0.0.1:2024 does")
        self.user_id = user_id
        self._url = url.rstrip("/").removesuffix(_ROUTES)
        self._token = token
        self._timeout = timeout
        self._http = httpx.AsyncClient() if http is None else http
        self._owns_http = http is None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        if self._owns_http:
            await self._http.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> httpx.Response:
        request = await self._request(method, path, query, body, headers)
        # a token is for this server, and not for where it points
        answer = await self._http.send(request, follow_redirects=False)
        if not answer.is_success and answer.status_code != 304:
            raise MemoryApiError.of(answer)
        return answer

    @asynccontextmanager
    async def _stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        request = await self._request(method, path, query, headers=headers, reading=max(SILENCE_SECONDS, self._timeout))
        answer = await self._http.send(request, stream=True, follow_redirects=False)
        try:
            if not answer.is_success:
                await answer.aread()
                raise MemoryApiError.of(answer)
            yield answer
        finally:
            await answer.aclose()

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        *,
        reading: float | None = None,
    ) -> httpx.Request:
        sent = _given(headers or {})
        token = self._token() if callable(self._token) else self._token
        if inspect.isawaitable(token):
            token = await token
        if token:
            sent["authorization"] = f"Bearer {token}"
        return self._http.build_request(
            method,
            self._url + path,
            params=_given(query or {}),
            json=None if body is None else to_jsonable_python(_given(body)),
            headers=sent,
            timeout=httpx.Timeout(self._timeout, read=reading or self._timeout),
        )


def read_answer(kind: type[AnswerType], answer: httpx.Response) -> AnswerType:
    """Return what an answer holds, with its ETag.

    Args:
        kind: What it is.
        answer: The answer.

    Raises:
        MemoryApiError: If it is something else, such as a page of a proxy.
    """
    try:
        read = kind.model_validate_json(answer.content)
    except ValidationError as error:
        why = f"the answer is no {kind.__name__}: {error.error_count()} problems"
        raise MemoryApiError(answer.status_code, "Unreadable Answer", why) from error
    read._etag = answer.headers.get("etag", "")
    return read


async def read_events(answer: httpx.Response) -> AsyncIterator[ServerEvent]:
    """Yield the server-sent events of a stream, without its comments."""
    event, data, identity = "message", list[str](), ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line and name == "event":
            event = value
        elif line and name == "data":
            data.append(value)
        elif line and name == "id":
            identity = value
        elif not line:
            if data:
                yield ServerEvent(event, json.loads("\n".join(data)), identity)
            event, data = "message", []


async def items_of(turn: Callable[[str | None], Awaitable[Page[Item]]]) -> AsyncIterator[Item]:
    """Yield what is on the pages of a list, and ask for a page when the one before is used up.

    Args:
        turn: Returns the page of a cursor; the first one without.
    """
    cursor = None
    while True:
        page = await turn(cursor)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if not cursor:
            return


def segment(value: str) -> str:
    """Return an id as a part of a path.

    Raises:
        ValueError: If it would be another path.
    """
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} is no id")
    return quote(value, safe="")


def entity_tag(value: str | None) -> str | None:
    """Return what a header says for an ETag, or for the bare revision that it is of."""
    if value is None or value == "*" or '"' in value:
        return value
    return f'"{value}"'


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request names; everything else is left to the server."""
    return {name: value for name, value in values.items() if value is not None}
