"""Authentication by signed tokens: `"auth": {"path": "react_mem.graphs.auth.by_jwt:auth"}` in `langgraph.json`.

The environment names the issuer: `AUTH_JWT_ISSUER`, `AUTH_JWT_AUDIENCE`, and `AUTH_JWT_JWKS_URL` or `AUTH_JWT_SECRET`.
"""

from __future__ import annotations

from functools import cache

from langgraph_sdk import Auth

from react_mem.graphs.auth.permissions import bearer_token, caller, default_deny, scraper
from react_mem.graphs.auth.signed_tokens import JwtSettings, Tokens


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


@cache
def _from_env() -> Auth:
    return by_jwt(JwtSettings.from_env())


def __getattr__(name: str) -> Auth:
    """Return `auth`, made when a server asks for it: only there do its settings have to be right."""
    if name != "auth":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _from_env()
