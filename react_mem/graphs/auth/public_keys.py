"""Public keys of an identity provider (JWKS), fetched when needed and kept for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import jwt

FRESH_SECONDS = 300.0
"""Age up to which keys are used without asking again, and a key that was withdrawn may still be believed."""

PATIENCE_SECONDS = 24 * 3600.0
"""Age up to which keys are used while their provider cannot be reached."""

PAUSE_SECONDS = 30.0
"""Pause between two requests: anybody can send tokens of keys that are not known."""

MAX_BYTES = 500_000

log = logging.getLogger(__name__)


class PublicKeys:
    """Public keys of an identity provider, by their ids.

    Args:
        url: Where they are.
        algorithms: The algorithms that they may be used with.
        client: What fetches them.
        clock: The time, in seconds.
    """

    def __init__(
        self,
        url: str,
        algorithms: tuple[str, ...],
        client: Callable[[], httpx.AsyncClient] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._algorithms = algorithms
        self._client = client or (lambda: httpx.AsyncClient(timeout=5, follow_redirects=False))
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = -PATIENCE_SECONDS
        self._renewal: asyncio.Task[None] | None = None
        self._failed = ""

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key; None where the provider has none of that id.

        Whoever needs a key that is not at hand waits for the request that is under way, and makes no other.

        Args:
            key_id: The id, as a token names it.

        Raises:
            httpx.HTTPError: If the keys cannot be fetched, and none are at hand.
            ValueError: If what is there are no keys, and none are at hand; or a request has failed a moment ago.
        """
        if self._renewal is None and self._due(key_id):
            # a task of its own: a caller that hangs up ends its own wait, and not that of the others
            self._renewal = asyncio.create_task(self._renew())
            self._renewal.add_done_callback(self._renewed)
            await asyncio.shield(self._renewal)
        elif self._renewal is not None and key_id not in self._keys:
            await asyncio.shield(self._renewal)
        elif self._failed and not self._keys:
            raise ValueError(f"they could not be fetched a moment ago: {self._failed}")
        return self._keys.get(key_id)

    def _due(self, key_id: str) -> bool:
        now = self._clock()
        wanted = key_id not in self._keys or now - self._fetched > FRESH_SECONDS
        return wanted and now - self._tried > PAUSE_SECONDS

    async def _renew(self) -> None:
        self._tried = self._clock()
        try:
            self._keys = await self._fetch()
            self._fetched, self._failed = self._clock(), ""
        except (httpx.HTTPError, ValueError) as error:
            self._failed = type(error).__name__
            if self._clock() - self._fetched > PATIENCE_SECONDS:
                self._keys = {}
                raise
            log.warning("the keys of the identity provider cannot be fetched (%s); those at hand are used", error)

    def _renewed(self, renewal: asyncio.Task[None]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # told to those who wait; perhaps nobody does any more

    async def _fetch(self) -> dict[str, jwt.PyJWK]:
        body = b""
        async with self._client() as client, client.stream("GET", self._url) as answer:
            answer.raise_for_status()
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise ValueError(f"they have more than {MAX_BYTES:,} bytes")
        return await asyncio.to_thread(self._read, body)

    def _read(self, body: bytes) -> dict[str, jwt.PyJWK]:
        found: Any = httpx.Response(200, content=body).json()
        listed = found.get("keys") if isinstance(found, Mapping) else None
        if not isinstance(listed, list):
            raise ValueError("what is there is no set of keys")
        keys: dict[str, jwt.PyJWK] = {}
        for one in listed:
            if not isinstance(one, Mapping) or one.get("use", "sig") != "sig" or not isinstance(one.get("kid"), str):
                continue
            try:
                key = jwt.PyJWK(dict(one))
            except jwt.exceptions.PyJWTError:
                continue  # of a kind that this server does not know: others may be of use
            if key.algorithm_name in self._algorithms:
                keys[one["kid"]] = key
        return keys
