"""Work for what waits without any: turns and conversations that were stored before there was a queue, or imported."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from langgraph.store.base import BaseStore, GetOp, Item, SearchOp

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, PENDING
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.store.owned import users_with
from react_mem.memory.store.transactions import Guard, compare_and_set
from react_mem.memory.work.items import Work, put_work

_MARK = (("memory_worker",), "swept")
_EVERY_MS = 24 * 3_600_000
_USERS_AT_ONCE = 50
_ALL = 100_000
_OPEN_MS = 120_000
"""For a turn that is not over yet: it is given no work that could be begun before its end."""


async def sweep(store: BaseStore, at: int) -> None:
    """Give work to every turn that waits and every conversation that is open and have none; once a day for a database.

    Args:
        store: The store.
        at: Now, in milliseconds since 1970.
    """
    mark = await store.aget(*_MARK, refresh_ttl=False)
    before = mark.value if mark is not None else None
    if before is not None and before["at"] + _EVERY_MS > at:
        return
    users = await users_with(store, PENDING.place, MemoryScope.STATE)
    for start in range(0, len(users), _USERS_AT_ONCE):
        await _sweep_users(store, users[start : start + _USERS_AT_ONCE], at)
    # marked at the end: a crash leaves it to the next worker
    await compare_and_set(store, Guard(*_MARK, before), {"at": at})


async def _sweep_users(store: BaseStore, users: Sequence[str], at: int) -> None:
    open_ = {"kind": CONVERSATION.name, "ended": False}
    pending = await store.abatch([SearchOp(PENDING.namespace(u), limit=_ALL, refresh_ttl=False) for u in users])
    talks = await store.abatch(
        [SearchOp(scope_namespace(u, MemoryScope.STATE), filter=open_, limit=_ALL, refresh_ttl=False) for u in users]
    )
    wanted: list[tuple[str, Work]] = []
    for user, turns, conversations in zip(users, pending, talks, strict=True):
        works = [_work("extract", item, max(at, _created_at(item) + _OPEN_MS)) for item in _items(turns)]
        works += [_work("maintain", item, at) for item in _items(conversations)]
        # of equal work the latest counts
        latest = {work.key: work for work in sorted(works, key=lambda work: work.due_at)}
        wanted += [(user, work) for work in latest.values()]
    known = await store.abatch([GetOp(*work.place(user), refresh_ttl=False) for user, work in wanted])
    missing = [pair for pair, item in zip(wanted, known, strict=True) if item is None]
    changes = [put_work(user, work) for user, work in missing]
    if changes:
        await store.abatch(changes)


def _items(found: Any) -> list[Item]:
    return [item for item in found if isinstance(item, Item)] if isinstance(found, list) else []


def _created_at(item: Item) -> int:
    try:
        return int(datetime.fromisoformat(str(item.value.get("created_at"))).timestamp() * 1000)
    except ValueError:
        # a record that nobody can read is not to keep the others from their work
        return 0


def _work(kind: Literal["extract", "maintain"], item: Item, at: int) -> Work:
    return Work(kind=kind, agent=str(item.value.get("agent_id")), session=str(item.value.get("session_id")), due_at=at)
