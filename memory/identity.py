"""Whose memory a run uses: the server's authenticated user, else the caller's `user_id`, else nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime


@dataclass(frozen=True)
class Identity:
    """Who speaks, in which conversation.

    Args:
        user_id: The owner of everything read and written.
        session_id: The conversation: LangGraph's thread id, or the run's where there is no thread.
    """

    user_id: str
    session_id: str


def identify(runtime: Runtime[Any], config: RunnableConfig) -> Identity | None:
    """Return who the run belongs to.

    The authenticated user of the server always wins, so that a caller cannot name somebody else. The model and the
    arguments of tools never have a say.

    Args:
        runtime: The node's runtime.
        config: The node's config.

    Returns:
        The identity; None where nobody is named, which turns memory off for the run: there is no shared default.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    user = runtime.server_info.user if runtime.server_info else None
    context = runtime.context
    # a graph without a context schema, or with a TypedDict, is handed a plain dict
    named = context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)
    said = named or configurable.get("user_id")
    user_id = user.identity if user is not None else said
    if not user_id:
        return None
    run_id = runtime.execution_info.run_id if runtime.execution_info else None
    return Identity(user_id=str(user_id), session_id=str(configurable.get("thread_id") or run_id or "unthreaded"))
