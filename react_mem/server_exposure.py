"""Exposure of a LangGraph server: its authentication, its network, and the refusal to start unprotected."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from react_mem.errors import ExposedServerError

ALLOW_ANONYMOUS_ENV = "REACT_MEM_ALLOW_ANONYMOUS"
"""1 lets a deployment run without authentication, since something in front of it has looked who calls."""

_EXPOSED = (
    "this server authenticates nobody, and it is not `langgraph dev` on the loopback interface. Whoever reaches it "
    "could read, change and erase the memories, threads and runs of every user by naming them, change the "
    "assistants that everybody uses, and have models answer at your expense."
)
_CURE = (
    'Name an authentication in its langgraph.json, as langgraph.deploy.json does: "auth": {"path": '
    '"react_mem.graphs.auth.by_jwt:auth", "disable_studio_auth": true} (docs/security.md). Only where something in '
    f"front of the server has looked who calls, and nobody can go round it, set {ALLOW_ANONYMOUS_ENV}=1."
)

log = logging.getLogger(__name__)


def refuse_exposed_server(environ: Mapping[str, str] = os.environ) -> None:
    """Stop a server that would serve everybody's memories to anybody; outside a server it does nothing.

    It authenticates nobody, others than this machine reach it, and nobody has allowed that.
    """
    if not environ.get("LANGSERVE_GRAPHS") or authenticates(environ) or is_development(environ):
        return
    if environ.get(ALLOW_ANONYMOUS_ENV, "").strip() != "1":
        raise ExposedServerError(f"{_EXPOSED} {_CURE}")
    log.warning("%s It runs because %s is 1.", _EXPOSED, ALLOW_ANONYMOUS_ENV)


def authenticates(environ: Mapping[str, str] = os.environ) -> bool:
    """Return true if the server authenticates its callers; the environment has its configuration."""
    if environ.get("LANGGRAPH_AUTH_TYPE") == "langsmith":
        return True
    try:
        auth = json.loads(environ.get("LANGGRAPH_AUTH") or "{}")
    except ValueError:
        return False
    return isinstance(auth, dict) and bool(auth.get("path"))


def is_development(environ: Mapping[str, str] = os.environ) -> bool:
    """Return true for `langgraph dev` that listens on the loopback interface alone, without a tunnel."""
    local = environ.get("LANGSMITH_LANGGRAPH_API_VARIANT") == "local_dev"
    # with a tunnel it is the tunnel's address
    return local and is_loopback(urlsplit(environ.get("LANGGRAPH_API_URL", "")).hostname or "")


def is_loopback(host: str) -> bool:
    """Return true if a host's name or address, without a port, is this machine's own, for itself alone.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
