"""Telling a thread that was forked at its very beginning from one that started over under the same id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from react_mem.memory.model.kinds import MESSAGE

_CHECKPOINTER = "__pregel_checkpointer"
"""Key of the checkpointer in a run's config: LangGraph offers nodes no other way to their thread's history."""

_MARKS = ("remembered", "memory_mark")
"""Fields of the states of `react_mem` and the middleware: the point up to which memory has the thread. The messages
themselves need not be in a checkpoint: it may hold only what has been added to them."""

_LATEST = 30
"""Checkpoints to look at, the latest first: the few of this run, then those of the one that said it."""


def has_thread(config: RunnableConfig) -> bool:
    """Return whether a run has a thread with checkpoints, which runs of one conversation follow on.

    Args:
        config: The run's config.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    return isinstance(configurable.get(_CHECKPOINTER), BaseCheckpointSaver) and bool(configurable.get("thread_id"))


async def was_on_thread(config: RunnableConfig, session_id: str, tip: str, *, blocking: bool = False) -> bool:
    """Return whether a message was said on the thread of this run, as its checkpoints show.

    Asked only where memory has a conversation of which the thread holds nothing at all.

    Args:
        config: The run's config.
        session_id: The conversation.
        tip: The record of the message.
        blocking: Whether the agent runs outside of an event loop, and its checkpointer with it.
    """
    if not has_thread(config):
        return False
    configurable: dict[str, Any] = config["configurable"]
    saver: BaseCheckpointSaver[Any] = configurable[_CHECKPOINTER]
    namespace = "|".join(str(configurable.get("checkpoint_ns") or "").split("|")[:-1])
    thread = RunnableConfig(configurable={"thread_id": configurable["thread_id"], "checkpoint_ns": namespace})
    if blocking:
        return await asyncio.to_thread(
            lambda: any(_holds(found, session_id, tip) for found in saver.list(thread, limit=_LATEST))
        )
    async for found in saver.alist(thread, limit=_LATEST):
        if _holds(found, session_id, tip):
            return True
    return False


def _holds(found: CheckpointTuple, session_id: str, tip: str) -> bool:
    values = found.checkpoint["channel_values"]
    marks = [values.get(name) for name in _MARKS]
    ids = [mark["id"] if isinstance(mark, Mapping) else mark for mark in marks if mark]
    return any(MESSAGE.id(session_id, str(id_)) == tip for id_ in ids)
