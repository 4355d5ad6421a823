"""Identity of a run: the server's authenticated user, else the caller's `user_id`, else, on a developer's own
machine, the declared development user, else nobody. This module alone decides, and explains a missing identity.
"""

from __future__ import annotations

import logging
import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig

from react_mem.memory.model.interface import MAX_OWNER_BYTES
from react_mem.memory.model.namespaces import encode
from react_mem.server_exposure import authenticates, is_development

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


log = logging.getLogger(__name__)

CLIENT_SESSION = "mcp"  # conversation of statements made through an MCP client, which alone knows the real one
USE_MEMORY = "use_memory"  # key in the context or under `configurable` by which a caller switches memory off for a run
CORRECTED = "corrected"  # conversation of corrections, which are made outside of any
OUTSIDE = frozenset({CORRECTED, CLIENT_SESSION})  # conversations outside of our threads: the fact alone has the words
DEV_USER_ENV = "REACT_MEM_DEV_USER"
DEV_USER = "dev"
_AUTHENTICATED = "langgraph_auth_user"
_UNSEEN = frozenset({"Cc", "Cf", "Me", "Mn", "Mc", "Zl", "Zp", "Zs"})
"""Unicode categories that show nothing by themselves: white space, controls, joiners, lone accents."""

_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories not allowed in a user's id: controls, surrogates, line and paragraph separators."""

_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # blank characters that Unicode counts as letters or symbols


@dataclass(frozen=True)
class Identity:
    """Speaker, who owns everything read and written, and conversation: LangGraph's thread id, else the run's.

    In `development` the development user stands in, because nobody was named.
    """

    user_id: str
    session_id: str
    development: bool = False
    threaded: bool = True

    def details(self) -> dict[str, str]:
        """Return the development user for a `memory` event; empty for a named user."""
        return {"development_user": self.user_id} if self.development else {}


def identify(runtime: Runtime[Any], config: RunnableConfig) -> Identity | None:
    """Return the identity of a run.

    The authenticated user of the server always wins, so that a caller cannot name somebody else; one without an
    identity is nobody. The model and the arguments of tools never have a say.

    None where nobody is named turns memory off for the run: there is no shared default, except for a server that a
    developer runs for themselves (see `development_user`).
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    development = False
    user_id = _said(runtime, configurable)
    if not user_id and runtime.server_info is not None and not _is_authenticated(runtime, configurable):
        user_id = development_user()
        development = bool(user_id)
    if not user_id or unfit(user_id):
        return None
    if development:
        form = "no user is named, so memories belong to the development user %r; {} names another, or, empty, nobody"
        _warn_once(form.format(DEV_USER_ENV), user_id)
    run_id = runtime.execution_info.run_id if runtime.execution_info else None
    session_id = str(configurable.get("thread_id") or run_id or "unthreaded")
    return Identity(user_id, session_id, development, bool(configurable.get("thread_id")))


def named(user_id: object) -> str:
    """Return a user's id unchanged as text; empty where it is None or has no visible character.

    >>> named(" ann "), named("  "), named("\\u200b"), named(None), named(7)
    (' ann ', '', '', '', '7')
    """
    text = str(user_id) if user_id else ""
    shows = any(unicodedata.category(char) not in _UNSEEN and char not in _FILLERS for char in text)
    return text if shows else ""


def unfit(user_id: str) -> str:
    """Return the reason why an id cannot own memories, without repeating it; empty where it can.

    >>> unfit("ann@example.com"), unfit("   ")
    ('', 'it is empty: nothing of it can be seen')
    >>> unfit("ann\\nbob")
    'it holds control characters'
    """
    if not named(user_id):
        return "it is empty: nothing of it can be seen"
    if any(unicodedata.category(char) in _CONTROLS for char in user_id):
        return "it holds control characters"
    length = len(encode(user_id))
    if length > MAX_OWNER_BYTES:
        return f"it is too long: {length} bytes as the database keeps it, of at most {MAX_OWNER_BYTES}"
    return ""


def development_user(environ: Mapping[str, str] = os.environ) -> str:
    """Return the user of `langgraph dev` where nobody is named; empty for none.

    REACT_MEM_DEV_USER names the user, `dev` by default; empty, it names nobody. There is one only on a server that
    is `langgraph dev`, listens on the loopback interface alone and authenticates nobody: never in a deployment.
    """
    if authenticates(environ) or not is_development(environ):
        return ""
    return named(environ.get(DEV_USER_ENV, DEV_USER).strip())


def switched_off(runtime: Runtime[Any], config: RunnableConfig) -> bool:
    """Return true if the caller has switched memory off for the run: nothing is read, and nothing of it is stored.

    The identity is unaffected: quotas count the run all the same.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    # what is not clearly true, in a context of the caller's own, is no leave to remember
    return any(given not in (None, True) for given in (_in_context(runtime, USE_MEMORY), configurable.get(USE_MEMORY)))


def why_off(runtime: Runtime[Any], config: RunnableConfig) -> str:
    """Return the reason why memory is off for a run and how to turn it on; also logged, once a process."""
    if switched_off(runtime, config):
        return f"Memory is off for this run: its caller has switched it off ({USE_MEMORY})."
    reason = _reason(runtime, config)
    _warn_once("memory is off for a run: %s", reason)
    return f"Memory is off for this run: {reason}"


def _reason(runtime: Runtime[Any], config: RunnableConfig) -> str:
    if identify(runtime, config) is not None:
        return "the graph has no store. Build it with one, or serve it with the store of langgraph.json."
    said = _said(runtime, config.get("configurable") or {})
    if said and (why := unfit(said)):
        return f"the id of the user cannot own memories: {why}."
    if _is_authenticated(runtime, config.get("configurable") or {}):
        return "the authenticated user has no identity. Have the server's authentication return one."
    nobody = "no user is named (user_id)."
    if runtime.server_info is None:
        return f'{nobody} Pass context={{"user_id": ...}} with the run.'
    if os.environ.get("LANGSMITH_LANGGRAPH_API_VARIANT") == "local_dev":
        return (
            f"{nobody} Send user_id in the run's context, add authentication, or, on the loopback interface, name a "
            f"development user in {DEV_USER_ENV}."
        )
    return f"{nobody} Add authentication to the server (auth in langgraph.json), or send user_id in the run's context."


def _said(runtime: Runtime[Any], configurable: Mapping[str, Any]) -> str:
    """Return the authenticated user of the server, else the user named by the caller; empty for nobody."""
    if _is_authenticated(runtime, configurable):
        user = runtime.server_info.user if runtime.server_info else None
        return named(user.identity) if user is not None else ""
    return named(_in_context(runtime, "user_id")) or named(configurable.get("user_id"))


def _in_context(runtime: Runtime[Any], name: str) -> Any:
    context = runtime.context
    # a graph without a context schema, or with a TypedDict, is handed a plain dict
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)


def is_nobodys(runtime: Runtime[Any], config: RunnableConfig) -> bool:
    """Return true if a run has no identity: no server has authenticated its caller, and no user is named.

    A caller with an identity that cannot own memories is somebody all the same.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    return not _is_authenticated(runtime, configurable) and not _said(runtime, configurable)


def _is_authenticated(runtime: Runtime[Any], configurable: Mapping[str, Any]) -> bool:
    """Return true if a server has authenticated the caller, even without a name."""
    user = runtime.server_info.user if runtime.server_info else None
    return user is not None or configurable.get(_AUTHENTICATED) is not None


@cache
def _warn_once(form: str, detail: str) -> None:
    log.warning(form, detail)
