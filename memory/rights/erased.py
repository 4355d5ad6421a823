"""The receipts of what is erased as a whole, a conversation or a user: threads and bookkeeping are checked too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item

from react_mem.memory.model.changes import Change
from react_mem.memory.model.kinds import KINDS, MESSAGE
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.receipt import Check, Receipt
from react_mem.memory.rights.receipts import check, read_again, receipt_of
from react_mem.memory.store.owned import WHOLE, bookmarks
from react_mem.memory.work.items import forgotten_work

Checkpointer = BaseCheckpointSaver[Any] | None

_Result = TypeVar("_Result")

_AT_ONCE = 4
"""Threads that are deleted or looked for at once."""


class ErasedSessions(list[str]):
    """The conversations that a user had.

    Args:
        sessions: Their ids.
        receipt: What was removed with them, and what was found of it afterwards.
    """

    def __init__(self, sessions: Iterable[str], receipt: Receipt) -> None:
        super().__init__(sessions)
        self.receipt = receipt


async def checked(
    store: BaseStore,
    checkpointer: Checkpointer,
    user_id: str,
    items: Sequence[Item],
    changes: Iterable[Change],
    *,
    session_id: str | None = None,
    threads: Sequence[str] = (),
) -> Receipt:
    """Return the receipt of a conversation, or of all of a user, that has just been erased.

    Args:
        store: The store.
        checkpointer: Keeps the threads; None where the caller does.
        user_id: The owner.
        items: Everything of the owner, as it was.
        changes: What was written.
        session_id: The conversation; None for all of the user.
        threads: The threads that were deleted.
    """
    receipt, erased, asked = await asyncio.to_thread(_removed, items, list(changes))

    def says(item: Item) -> bool:
        return session_id is None or item.value.get("session_id") == session_id

    more = {
        "threads": _threads(checkpointer, threads),
        "bookkeeping": _bookkeeping(store, user_id, session_id),
    }
    checks = await read_again(store, user_id, erased, says, asked, more)
    return receipt.model_copy(update={"checks": checks})


def _removed(items: Sequence[Item], changes: Sequence[Change]) -> tuple[Receipt, frozenset[str], list[str]]:
    """Return the receipt of writes, the ids of what they remove, and what that said."""
    gone = {(change.namespace, change.key) for change in changes if change.value is None}
    erased = [item for item in items if (item.namespace, item.key) in gone]
    messages = sum(MESSAGE.matches(item.value) and item.value.get("role") == "user" for item in erased)
    indexed = [kind for kind in KINDS.values() if kind.indexed]
    # what is known before what was said
    asked = [str(item.value.get("text") or "") for kind in indexed for item in erased if kind.matches(item.value)]
    return receipt_of(items, changes, messages), frozenset(item.key for item in erased), asked


async def _threads(checkpointer: Checkpointer, threads: Sequence[str]) -> AsyncIterator[Check]:
    if checkpointer is None:
        return
    states = await few_at_once(lambda id_: checkpointer.aget_tuple({"configurable": {"thread_id": id_}}), threads)
    yield check("threads", [id_ for id_, state in zip(threads, states, strict=True) if state is not None])


async def few_at_once(do: Callable[[str], Awaitable[_Result]], ids: Sequence[str]) -> list[_Result]:
    """Do something to each of many, a few at a time: others need connections too. Return the results in order."""
    results: list[_Result] = []
    for start in range(0, len(ids), _AT_ONCE):
        results += await asyncio.gather(*map(do, ids[start : start + _AT_ONCE]))
    return results


async def _bookkeeping(store: BaseStore, user_id: str, session_id: str | None) -> AsyncIterator[Check]:
    """Look at what waits to be done, where the terminal left off, and what is noted of the user."""
    yield check("work", [change.key for change in await forgotten_work(store, user_id, session_id)])
    marks = await bookmarks(store, user_id)
    yield check("bookmarks", [one.key for one in marks if session_id in (None, one.value.get("thread_id"))])
    if session_id is None:
        noted = await store.asearch(meta_namespace(user_id), limit=WHOLE, refresh_ttl=False)
        yield check("bookkeeping", [item.key for item in noted])
