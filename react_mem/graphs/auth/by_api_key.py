"""Authentication by API keys: `"auth": {"path": "react_mem.graphs.auth.by_api_key:auth"}` in `langgraph.json`.

The environment names the file of their hashes, `AUTH_API_KEYS_FILE`. A caller sends the key as `x-api-key`, or as a
bearer token.
"""

from __future__ import annotations

from functools import cache

from langgraph_sdk import Auth

from react_mem.graphs.auth.api_keys import ApiKeys
from react_mem.graphs.auth.callers_identity import bearer_token, caller, scraper, unauthorized
from react_mem.graphs.auth.jwt_settings import administrators
from react_mem.graphs.auth.permissions import default_deny


def by_api_key(keys: ApiKeys, admins: frozenset[str]) -> Auth:
    """Return an authentication by API keys, with the permissions of its users.

    Args:
        keys: The keys.
        admins: The identities of the administrators.
    """
    auth = Auth()
    default_deny(auth)

    @auth.authenticate
    async def authenticate(
        authorization: str | None, headers: dict[bytes, bytes], path: str
    ) -> Auth.types.MinimalUserDict:
        if reader := scraper(path, authorization):
            return reader
        sent = headers.get(b"x-api-key", b"").decode("latin-1")
        identity = keys.identity(sent or bearer_token(authorization))
        if identity is None:
            raise unauthorized("the API key is not known")
        return caller(identity, administrator=identity in admins)

    return auth


@cache
def _from_env() -> Auth:
    return by_api_key(ApiKeys.from_env(), administrators())


def __getattr__(name: str) -> Auth:
    """Return `auth`, made when a server asks for it: only there do its settings have to be right."""
    if name != "auth":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _from_env()
