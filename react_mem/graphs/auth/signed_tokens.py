"""Signed tokens (JWT): who sent them, if they are valid."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import jwt
from starlette.exceptions import HTTPException

from react_mem.graphs.auth.callers_identity import unauthorized
from react_mem.graphs.auth.jwt_settings import JwtSettings
from react_mem.graphs.auth.public_keys import PublicKeys

MAX_TOKEN_BYTES = 16_384

log = logging.getLogger(__name__)


class Tokens:
    """Verifier of signed tokens: issuer, audience, expiry and algorithm are required, never taken from the token.

    Args:
        settings: What a token must be.
        keys: The issuer's public keys; those of the settings' address by default.
    """

    def __init__(self, settings: JwtSettings, keys: PublicKeys | None = None) -> None:
        self._settings = settings
        self._keys = keys or PublicKeys(settings.jwks_url, settings.algorithms)

    async def claims(self, token: str) -> dict[str, Any]:
        """Return what a valid token says.

        Args:
            token: The token.

        Raises:
            langgraph_sdk.Auth.exceptions.HTTPException: If it is not valid: 401, with the cause.
            starlette.exceptions.HTTPException: If the keys to look it up by cannot be fetched: 503.
        """
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
                leeway=wanted.leeway,
                options={"require": ["exp", "iss", "aud", wanted.identity_claim]},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
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
