"""Identity of an authenticated caller: checked once, before anything is done in their name."""

from __future__ import annotations

import hmac
import os
from typing import Any

from langgraph_sdk import Auth

from react_mem.graphs.auth.permissions import ADMINISTRATOR, METRICS
from react_mem.memory.runtime import unfit

METRICS_PATH = "/memory/metrics"
METRICS_TOKEN_ENV = "METRICS_TOKEN"  # noqa: S105 - the name of a setting


def bearer_token(authorization: str | None) -> str:
    """Return the token of a request.

    Args:
        authorization: The header.

    Raises:
        HTTPException: If there is none: 401.
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthorized("send `Authorization: Bearer` with a token")
    return token.strip()


def caller(identity: Any, *, administrator: bool) -> Auth.types.MinimalUserDict:
    """Return a caller as the server knows them.

    Args:
        identity: Who it is, as the token says.
        administrator: Whether they may change what is everybody's.

    Raises:
        HTTPException: If they cannot own anything: 401, and nothing that they say beside it counts.
    """
    why = unfit(identity) if isinstance(identity, str) else "it is no text"
    if why:
        raise unauthorized(f"the token's identity cannot be used: {why}")
    permissions = [ADMINISTRATOR] if administrator else []
    return {"identity": identity, "display_name": identity, "is_authenticated": True, "permissions": permissions}


def scraper(path: str, authorization: str | None) -> Auth.types.MinimalUserDict | None:
    """Return the caller that reads the metrics by their own token; None for everybody else.

    Args:
        path: What is asked for.
        authorization: The header.
    """
    token = os.environ.get(METRICS_TOKEN_ENV, "")
    if not token or not path.endswith(METRICS_PATH):
        return None
    if not hmac.compare_digest((authorization or "").encode(), f"Bearer {token}".encode()):
        return None
    # an identity like any other; its permission keeps it from everything but the metrics
    return {"identity": METRICS, "display_name": "metrics", "is_authenticated": True, "permissions": [METRICS]}


def unauthorized(detail: str) -> Exception:
    """Return the error that a caller gets whom nobody knows.

    Args:
        detail: The cause, without a token.
    """
    return Auth.exceptions.HTTPException(status_code=401, detail=detail)
