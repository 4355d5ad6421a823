"""Quotas of a user: counted in the store, so that they survive restarts and hold over all processes.

One item among a user's bookkeeping has the day, by UTC, and what has been used in it; the first count of another day
begins anew. Each count is a guarded write, so that of any number of runs at once no more go through than are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from langgraph.store.base import BaseStore, PutOp

from react_mem.errors import QuotaExceeded
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.policy import QuotaSettings
from react_mem.memory.model.receipt import Change
from react_mem.memory.model.records import now
from react_mem.memory.store.transactions import transact_on

_KEY = "quotas"
_MESSAGES, _MODEL_CALLS = "messages_a_day", "model_calls_a_day"
_DAY = timedelta(days=1)


async def take_message(store: BaseStore, user_id: str, quotas: QuotaSettings) -> None:
    """Count a message that is to be answered, if as much as the first model call of its answer is left too.

    Args:
        store: The store.
        user_id: Whose message it is.
        quotas: What the agent allows.

    Raises:
        QuotaExceeded: If a quota is used up; nothing is counted then.
    """
    await _take(store, user_id, quotas, needed=(_MESSAGES, _MODEL_CALLS), taken=_MESSAGES)


async def take_model_call(store: BaseStore, user_id: str, quotas: QuotaSettings) -> None:
    """Count a call of the chat model that is about to be made.

    Args:
        store: The store.
        user_id: For whom it is made.
        quotas: What the agent allows.

    Raises:
        QuotaExceeded: If the quota is used up; nothing is counted then.
    """
    if quotas.model_calls_a_day is not None:
        await _take(store, user_id, quotas, needed=(_MODEL_CALLS,), taken=_MODEL_CALLS)


async def _take(store: BaseStore, user_id: str, quotas: QuotaSettings, *, needed: Sequence[str], taken: str) -> None:
    namespace = meta_namespace(user_id)
    limits: dict[str, int | None] = quotas.model_dump()

    async def counted(before: dict[str, Any] | None) -> tuple[None, Sequence[Change]]:
        # not by the owner's revision, which is that of memories: a count changes none
        day, used = _used(before)
        for name in needed:
            limit = limits[name]
            if limit is not None and used.get(name, 0) >= limit:
                raise QuotaExceeded(name, limit, datetime.combine(day + _DAY, time(), UTC))
        if limits[taken] is None:
            return None, ()
        after = {"day": day.isoformat(), **used, taken: used.get(taken, 0) + 1}
        return None, [PutOp(namespace, _KEY, after, index=False)]

    await transact_on(store, namespace, _KEY, counted, what="the count of this user's quotas")


def _used(value: dict[str, Any] | None) -> tuple[date, dict[str, int]]:
    """Return the day that counts now, and what has been used in it."""
    today = now().date()
    if value is None:
        return today, {}
    day = date.fromisoformat(value["day"])
    # the clocks of two processes differ around midnight: whoever is behind does not begin the new day anew
    if day not in (today, today + _DAY):
        return today, {}
    return day, {name: number for name, number in value.items() if name != "day"}
