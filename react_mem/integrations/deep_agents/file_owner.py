"""Owner of the files that a call is about: from the run that is going on, or named by the application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from langgraph.config import get_config, get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore

from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.turns import identify, why_off

_NO_RUN = (
    "no run is going on that says whose files these are: use the backend in an agent, or name the owner and the store, "
    'as in MemoryFilesBackend(user_id="ann", store=store)'
)
_NO_STORE = "the agent has no store: build it with one, create_deep_agent(..., store=...), or give one to the backend"


class NobodysFiles(ValueError):  # noqa: N818 - it says what is
    """Files are asked for, and nobody says whose; the message says how to."""


@dataclass(frozen=True)
class FileOwner:
    """Owner of files, and where they are.

    Args:
        store: The store.
        user_id: The owner.
        session_id: The conversation in which they are read and written; empty outside of one.
        in_run: Whether an agent does it, and not the application.
    """

    store: BaseStore
    user_id: str
    session_id: str
    in_run: bool

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Have what is done within recorded as whose doing it is."""
        if not self.in_run:
            yield
            return
        with acting(AuditActor.AGENT, AuditReason.TURN):
            yield


def owner_of_files(store: BaseStore | None, user_id: str | None) -> FileOwner:
    """Return whose files a call that is made now is about.

    Args:
        store: The store; None for that of the run.
        user_id: The owner whom the application names; None for that of the run, never a model's or a tool's say.

    Raises:
        NobodysFiles: If neither names anybody, or there is no store.
    """
    runtime = _runtime()
    if runtime is None:
        if not user_id or store is None:
            raise NobodysFiles(_NO_RUN)
        return FileOwner(store, user_id, "", in_run=False)
    config = get_config()
    identity = identify(runtime, config)
    if user_id is None and identity is None:
        raise NobodysFiles(why_off(runtime, config))
    kept = store if store is not None else _store_of_run()
    if identity is not None and user_id in (None, identity.user_id):
        return FileOwner(kept, identity.user_id, identity.session_id, in_run=True)
    # the conversation is somebody else's
    return FileOwner(kept, str(user_id), "", in_run=True)


def _runtime() -> Runtime[None] | None:
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


def _store_of_run() -> BaseStore:
    try:
        store: BaseStore | None = get_store()
    except (RuntimeError, KeyError):
        store = None
    if store is None:
        raise NobodysFiles(_NO_STORE)
    return store
