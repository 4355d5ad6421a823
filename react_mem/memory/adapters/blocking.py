"""Memory for sync code: its coroutines run on another thread's event loop while the caller waits.

A LangGraph store with connections belongs to the event loop it was opened on, and is used there; any other store is
used on a loop of our own, in a thread of this process. A caller on the store's own loop would wait for itself: it gets
an error at once, instead of hanging.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from langgraph.store.base import BaseStore

from react_mem.memory.maintenance.worker import AgentWork

Result = TypeVar("Result")

_ANSWERS_WITHIN = 2.0
"""Seconds in which an event loop turns once; a slower one is blocked by our caller."""

_lock = threading.Lock()
_own: tuple[int, asyncio.AbstractEventLoop] | None = None
"""Our own loop, and its process: a thread is lost when a process forks."""


def run_blocking(make: Callable[[], Coroutine[Any, Any, Result]], store: BaseStore | None) -> Result:
    """Run the coroutine that `make` makes, which uses a store if any, and wait for it.

    Context variables are copied, so that model calls in it are traced under the caller. A RuntimeError says that the
    store's event loop is the one that is waiting here, or no longer runs.
    """
    loop = home_of(store)
    if loop is not None:
        _check_it_answers(loop)
    future = asyncio.run_coroutine_threadsafe(make(), loop or _own_loop())
    try:
        return future.result()
    except BaseException:
        # such as Ctrl-C: nobody waits for it any more
        future.cancel()
        raise


def _check_it_answers(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_running():
        raise RuntimeError(
            "the event loop that the memory's store was opened on no longer runs; keep it running while the agent is "
            "used, or use a store of LangGraph's that is not async"
        )
    try:
        waits_for_itself = asyncio.get_running_loop() is loop
    except RuntimeError:
        # LangGraph runs nodes in threads: it may be the caller of the agent who keeps the loop waiting
        turned = threading.Event()
        loop.call_soon_threadsafe(turned.set)
        waits_for_itself = not turned.wait(_ANSWERS_WITHIN)
    if waits_for_itself:
        raise RuntimeError(
            "memory was called from sync code on the event loop that its store belongs to, which would wait for "
            "itself; use the async call there (ainvoke, astream, aget_messages), or move the sync one to a thread "
            "(asyncio.to_thread)"
        )


def drain_blocking(work: AgentWork, within: float) -> bool:
    """Finish the work that sync code left on our own loop; true if all was done `within` these seconds."""
    if _own is None or _own[0] != os.getpid():
        return True
    return asyncio.run_coroutine_threadsafe(work.drain(within), _own[1]).result()


def home_of(store: BaseStore | None) -> asyncio.AbstractEventLoop | None:
    """Return the event loop of a store; None where any will do."""
    # LangGraph's async stores keep it under the one name or the other
    for name in ("loop", "_loop"):
        loop = getattr(store, name, None)
        if isinstance(loop, asyncio.AbstractEventLoop):
            return loop
    return None


def _own_loop() -> asyncio.AbstractEventLoop:
    global _own
    with _lock:
        if _own is None or _own[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="react-mem", daemon=True).start()
            _own = (os.getpid(), loop)
        return _own[1]
