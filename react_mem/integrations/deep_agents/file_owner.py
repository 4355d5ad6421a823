"""Owner of the files of a call: from the current run, or named by the application."""

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
    """Error for a call without an owner; the message says how to name one."""


@dataclass(frozen=True)
class FileOwner:
    """Owner of files, with their store.

    Args:
        session_id: The conversation of the call; empty outside of one.
        in_run: True for a call by an agent, false for one by the application.
    """

    store: BaseStore
    user_id: str
    session_id: str
    in_run: bool

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Record the actions within the context as the agent's, in a run."""
        if not self.in_run:
            yield
            return
        with acting(AuditActor.AGENT, AuditReason.TURN):
            yield


def owner_of_files(store: BaseStore | None, user_id: str | None) -> FileOwner:
    """Return the owner of the files of the current call.

    Args:
        store: The store; None for the run's.
        user_id: The owner by the application; None for the run's. Never a model's or a tool's choice.

    Raises:
        NobodysFiles: If there is neither owner, or no store.
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
