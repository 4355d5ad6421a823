"""Noting whose a thread is, beside the model's call: forgetting a user is to find the threads of every agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.config import get_config
from langgraph.runtime import Runtime

from react_mem.memory import telemetry
from react_mem.memory.runtime import note_thread
from react_mem.memory.turns import cause_of, identify

_PATIENCE = 2.0
"""Seconds that an answer is held back for a note that the database does not take."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def thread_noted(runtime: Runtime[Any]) -> AsyncIterator[None]:
    """Note the owner of the run's thread while something else is done; without either, or a store, there is no note.

    A note that fails never fails the run: the log says so, and the next turn tries again.

    Args:
        runtime: The node's runtime.
    """
    identity, store = identify(runtime, get_config()), runtime.store
    if store is None or identity is None or not identity.threaded:
        yield
        return
    noting = asyncio.create_task(note_thread(store, identity.user_id, identity.session_id))
    try:
        yield
    finally:
        try:
            await asyncio.wait_for(noting, _PATIENCE)
        except Exception as error:  # of a store, whatever it raises
            telemetry.count("degradations", part="thread")
            log.warning(
                "whose a thread is could not be noted; forgetting its user may not find it: %s", cause_of(error)
            )
