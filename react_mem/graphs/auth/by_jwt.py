"""Authentication by signed tokens (JWT): `"auth": {"path": "react_mem.graphs.auth.by_jwt:auth"}` in `langgraph.json`.

The environment names the issuer: `AUTH_JWT_ISSUER`, `AUTH_JWT_AUDIENCE`, and `AUTH_JWT_JWKS_URL` or `AUTH_JWT_SECRET`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from langgraph_sdk import Auth
from starlette.exceptions import HTTPException

from react_mem.errors import ServerAuthError
from react_mem.graphs.auth.permissions import administrators, bearer_token, caller, default_deny, scraper, unauthorized
from react_mem.server_exposure import is_loopback

JWKS_URL_ENV = "AUTH_JWT_JWKS_URL"
SECRET_ENV = "AUTH_JWT_SECRET"  # noqa: S105 - the name of a setting
ISSUER_ENV = "AUTH_JWT_ISSUER"
AUDIENCE_ENV = "AUTH_JWT_AUDIENCE"
ALGORITHMS_ENV = "AUTH_JWT_ALGORITHMS"
CLAIM_ENV = "AUTH_JWT_IDENTITY_CLAIM"

MIN_SECRET_BYTES = 32
MIN_RSA_BITS = 2_048
LEEWAY_SECONDS = 30  # by which clocks may differ

_SHARED = frozenset({"HS256", "HS384", "HS512"})
_PUBLIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})


@dataclass(frozen=True)
class JwtSettings:
    """Settings of the authentication by signed tokens: of `secret` and `jwks_url` one is empty."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    secret: str = field(default="", repr=False)
    jwks_url: str = ""
    identity_claim: str = "sub"
    administrators: frozenset[str] = frozenset()

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> JwtSettings:
        """Return the settings of the environment; `ServerAuthError` names the variable and the fix."""
        said = {name: value.strip() for name, value in environ.items() if name.startswith("AUTH_")}
        secret, jwks_url = said.get(SECRET_ENV, ""), said.get(JWKS_URL_ENV, "")
        if bool(secret) == bool(jwks_url):
            raise ServerAuthError(
                f"set {JWKS_URL_ENV} (the public keys of your identity provider) or {SECRET_ENV} (a secret that you "
                "share with whoever issues the tokens), and not both"
            )
        for name, what in ((ISSUER_ENV, "who issues the tokens (`iss`)"), (AUDIENCE_ENV, "whom they are for (`aud`)")):
            if not said.get(name):
                raise ServerAuthError(f"set {name} to {what}: a token of somebody else, or for something else, is none")
        if secret and len(secret.encode()) < MIN_SECRET_BYTES:
            raise ServerAuthError(
                f"{SECRET_ENV} has fewer than {MIN_SECRET_BYTES} bytes, so it can be guessed from a token; make one "
                "with: openssl rand -base64 48"
            )
        parts = urlsplit(jwks_url or "https:")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise ServerAuthError(f"{JWKS_URL_ENV} must be an https address: else others can put their keys in")
        return cls(
            issuer=said[ISSUER_ENV],
            audience=said[AUDIENCE_ENV],
            algorithms=_algorithms(said.get(ALGORITHMS_ENV, ""), shared=bool(secret)),
            secret=secret,
            jwks_url=jwks_url,
            identity_claim=said.get(CLAIM_ENV) or "sub",
            administrators=administrators(environ),
        )


def _algorithms(said: str, *, shared: bool) -> tuple[str, ...]:
    # one kind only: else a public key, which everybody has, could be used as the secret of a token
    possible = _SHARED if shared else _PUBLIC
    wanted = tuple(filter(None, (name.strip() for name in said.split(","))))
    wrong = [name for name in wanted if name not in possible]
    if wrong:
        raise ServerAuthError(
            f"{ALGORITHMS_ENV} names {', '.join(wrong)}, which cannot be used with "
            f"{SECRET_ENV if shared else JWKS_URL_ENV}; possible are {', '.join(sorted(possible))}"
        )
    return wanted or (("HS256",) if shared else ("RS256", "ES256"))


# Public keys of an identity provider (JWKS), fetched when needed and kept for a while.

FRESH_SECONDS = 300.0
"""Maximum age of cached keys; a withdrawn key may be accepted as long."""

PATIENCE_SECONDS = 24 * 3600.0
"""Maximum age of cached keys while their provider cannot be reached."""

PAUSE_SECONDS = 30.0
"""Pause between two requests: anybody can send tokens of keys that are not known."""

MAX_BYTES = 500_000

log = logging.getLogger(__name__)


class PublicKeys:
    """Public keys of an identity provider (JWKS), by key id; keys of other algorithms are ignored."""

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
        """Return the key of an id; None if the provider has no such key. Concurrent callers share one request.

        Raises `httpx.HTTPError` or `ValueError` if the keys cannot be fetched, and none are cached.
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
        try:
            found: Any = json.loads(body)
        except RecursionError:
            raise ValueError("they are nested too deeply") from None
        listed = found.get("keys") if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise ValueError("what is there is no set of keys")
        keys: dict[str, jwt.PyJWK] = {}
        for one in listed:
            # of a kind that this server does not know, or not well formed: the others are of use
            with suppress(jwt.PyJWTError, AttributeError, TypeError, ValueError):
                key = jwt.PyJWK(one)
                # a published shared secret is none: an algorithm that is not wanted is not taken from a key either
                is_of_use = key.public_key_use in ("sig", None) and key.algorithm_name in self._algorithms
                if isinstance(key.key, RSAPublicKey) and key.key.key_size < MIN_RSA_BITS:
                    log.warning("a key of the identity provider is not used: RSA with %d bits", key.key.key_size)
                elif is_of_use and isinstance(key.key_id, str):
                    keys[key.key_id] = key
        return keys


MAX_TOKEN_BYTES = 16_384


class Tokens:
    """Verifier of signed tokens: issuer, audience, expiry and algorithm are required, never taken from the token."""

    def __init__(self, settings: JwtSettings, keys: PublicKeys | None = None) -> None:
        self._settings = settings
        self._keys = keys or PublicKeys(settings.jwks_url, settings.algorithms)

    async def claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a valid token; 401 with the cause for another, 503 where the keys cannot be fetched."""
        if len(token) > MAX_TOKEN_BYTES:
            raise unauthorized("the token is too long")
        wanted = self._settings
        try:
            return jwt.decode(
                token,
                await self._key(token),
                algorithms=list(wanted.algorithms),
                issuer=wanted.issuer,
                audience=wanted.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", wanted.identity_claim]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            # what is wrong, and nothing of the token: a library's message may repeat it
            raise unauthorized(f"the token is not valid ({type(error).__name__})") from None

    async def _key(self, token: str) -> Any:
        if self._settings.secret:
            return self._settings.secret
        key_id = jwt.get_unverified_header(token).get("kid")
        if not isinstance(key_id, str):
            raise unauthorized("the token names no key (`kid`)")
        try:
            key = await self._keys.key(key_id)
        except (httpx.HTTPError, ValueError) as error:
            log.error("the keys of the identity provider cannot be fetched: %s", type(error).__name__)
            raise HTTPException(503, "the keys of the identity provider cannot be fetched; try again") from None
        if key is None:
            raise unauthorized("the token is signed by a key that its issuer does not have")
        return key


def by_jwt(settings: JwtSettings) -> Auth:
    """Return an authentication by signed tokens, with the permissions of its users."""
    tokens = Tokens(settings)
    auth = Auth()
    default_deny(auth)

    @auth.authenticate
    async def authenticate(authorization: str | None, path: str) -> Auth.types.MinimalUserDict:
        if reader := scraper(path, authorization):
            return reader
        claims = await tokens.claims(bearer_token(authorization))
        identity = claims[settings.identity_claim]
        return caller(identity, administrator=identity in settings.administrators)

    return auth


def __getattr__(name: str) -> Auth:
    """Return `auth`, made when a server asks for it: only there do its settings have to be right."""
    if name != "auth":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    auth: Auth = globals().setdefault(name, by_jwt(JwtSettings.from_env()))
    return auth
