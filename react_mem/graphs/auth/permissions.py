"""Permissions of a server's users: everything is denied that is not allowed here.

The server allows what no handler judges, so there is one for everything (`@auth.on`) and none that is more specific.

| What | A user | An administrator |
| --- | --- | --- |
| threads, their states and runs | their own | their own |
| assistants | read, search, run | also create, change and delete |
| crons | nothing | their own |
| the store's own routes | nothing | nothing |

An assistant is everybody's: who changes one puts a system prompt into the runs of all who use it, also after a restart.
A thread belongs to who made it: the server's filters compare its metadata, where only this module writes the owner.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping, MutableMapping
from importlib import import_module
from typing import Any

from langgraph_sdk import Auth

from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import unfit

OWNER = "owner"
"""Key of the owner in the metadata of a thread, a run or a cron."""

ADMINISTRATOR = "react_mem:administrator"

METRICS = "react_mem:metrics"
"""Permission of a scraper, who may read the metrics and nothing else."""

_OWN = {"create", "read", "update", "delete", "search", "create_run"}
_READ = {"read", "search"}


def default_deny(auth: Auth) -> None:
    """Register the permissions with an authentication, which identifies the caller and may grant `ADMINISTRATOR`."""
    auth.on(permitted)


async def permitted(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType | bool:
    """Return a filter of the caller's resources, or a verdict; write the owner into the metadata of `value`."""
    if not _is_ours(ctx):
        return False
    administrator = ADMINISTRATOR in ctx.permissions
    match ctx.resource:
        case "threads":
            if ctx.action == "delete":
                await _refuse_held(ctx.user.identity, str(value.get("thread_id")))
            return _threads(ctx, value, administrator)
        case "assistants":
            return _assistants(ctx, value, administrator)
        case "crons":
            return administrator and ctx.action in _OWN and _owned(ctx, value)
    return False


def _is_ours(ctx: Auth.types.AuthContext) -> bool:
    """Return true if our own authentication has identified the caller.

    A server lets callers in that name another scheme (`x-auth-scheme: langsmith`) where `disable_studio_auth` is not
    set: under `langgraph dev` without any proof of identity.
    """
    user: Any = ctx.user
    studio = isinstance(user, Auth.types.StudioUser) or getattr(user, "kind", None) == "StudioUser"
    return not studio and bool(user.identity) and METRICS not in ctx.permissions


def _threads(ctx: Auth.types.AuthContext, value: Any, administrator: bool) -> Auth.types.FilterType | bool:
    if ctx.action not in _OWN:
        return False
    kwargs = value.get("kwargs") if isinstance(value, Mapping) else None
    names_webhook = isinstance(kwargs, Mapping) and bool(kwargs.get("webhook"))
    if ctx.action == "create_run" and not administrator and names_webhook:
        # the server would send the answer to any address that it reaches, also within its own network
        raise Auth.exceptions.HTTPException(status_code=403, detail="only an administrator names a webhook")
    return _owned(ctx, value)


async def _refuse_held(owner: str, thread_id: str) -> None:
    """Refuse with 423 to delete a thread under a legal hold: its messages are to stay, also in the thread."""
    # by its name, since it imports all routes, and these import this module
    app = import_module("react_mem.graphs.http").app
    store = getattr(app.state, "store", None)
    for hold in await MemoryFacade(store).holds(owner) if store is not None else ():
        if hold.session_id in ("", thread_id):
            detail = f"the thread is under the legal hold {hold.reference!r}: nothing was removed"
            raise Auth.exceptions.HTTPException(status_code=423, detail=detail)


def _assistants(ctx: Auth.types.AuthContext, value: Any, administrator: bool) -> Auth.types.FilterType | bool:
    # whom the server itself marks as its maker is run without being looked at
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if administrator and isinstance(metadata, MutableMapping):
        metadata.pop("created_by", None)
    return administrator or ctx.action in _READ


def _owned(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """Return the filter by owner, and write the caller as the owner into the metadata of the request."""
    owner = {OWNER: ctx.user.identity}
    if isinstance(value, MutableMapping) and ctx.action in ("create", "update", "create_run"):
        metadata = value.get("metadata")
        if isinstance(metadata, MutableMapping):
            metadata.update(owner)
        else:
            value["metadata"] = dict(owner)
    return owner


METRICS_PATH = "/memory/metrics"
METRICS_TOKEN_ENV = "METRICS_TOKEN"  # noqa: S105 - the name of a setting


def administrators(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Return the identities of the administrators, from `AUTH_ADMINS`."""
    return frozenset(filter(None, (name.strip() for name in environ.get("AUTH_ADMINS", "").split(","))))


def bearer_token(authorization: str | None) -> str:
    """Return the bearer token of an `Authorization` header; 401 without one."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthorized("send `Authorization: Bearer` with a token")
    return token.strip()


def caller(identity: Any, *, administrator: bool) -> Auth.types.MinimalUserDict:
    """Return an authenticated caller in the form of the server; 401 for an identity that cannot own memories."""
    why = unfit(identity) if isinstance(identity, str) else "it is no text"
    if why:
        raise unauthorized(f"the token's identity cannot be used: {why}")
    permissions = [ADMINISTRATOR] if administrator else []
    return {"identity": identity, "display_name": identity, "is_authenticated": True, "permissions": permissions}


def scraper(path: str, authorization: str | None) -> Auth.types.MinimalUserDict | None:
    """Return the caller that reads `/memory/metrics` with the token of `METRICS_TOKEN`; None for any other request."""
    token = os.environ.get(METRICS_TOKEN_ENV, "")
    if not token or not path.endswith(METRICS_PATH):
        return None
    if not hmac.compare_digest((authorization or "").encode(), f"Bearer {token}".encode()):
        return None
    # an identity like any other; its permission keeps it from everything but the metrics
    return {"identity": METRICS, "display_name": "metrics", "is_authenticated": True, "permissions": [METRICS]}


def unauthorized(detail: str) -> Exception:
    """Return the 401 error for an unknown caller; `detail` must not hold the token."""
    return Auth.exceptions.HTTPException(status_code=401, detail=detail)
