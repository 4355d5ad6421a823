"""Audit of any LangGraph store, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from langgraph.store.base import BaseStore

from react_mem.integrations.quality.quality_report import QualityReport
from react_mem.integrations.quality.quality_tally import QualityTally
from react_mem.memory.records import read_all

STALE_AFTER = timedelta(days=365)


async def audit_quality(
    store: BaseStore,
    prefix: tuple[str, ...] = (),
    *,
    stale_after: timedelta = STALE_AFTER,
    at: datetime | None = None,
    report: Callable[[int], None] = lambda done: None,
) -> QualityReport:
    """Look through everything below a namespace; nothing is changed, and no text is kept.

    Args:
        store: The store.
        prefix: The namespace; everything by default.
        stale_after: Time after which an item that was not written again is stale.
        at: The time that counts as now; by default it is.
        report: Is told how many items have been read.
    """
    tally = QualityTally(stale_after, at or datetime.now(UTC))
    async for page in read_all(store, prefix, report=report):
        await asyncio.to_thread(tally.take, page)
    return await asyncio.to_thread(tally.report)
