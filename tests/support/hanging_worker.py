"""A worker that says when it is at work, and never ends it: for tests that kill it. Run with DATABASE_URL set."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from react_mem.memory.maintenance.worker import Worker
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.work.items import Work
from tests.support.databases import open_memory_store, word_model


class Hanging:
    """Begins, says so, and waits for ever."""

    async def run(self, store: Any, user_id: str, work: Work) -> Any:
        sys.stdout.write("at work\n")
        sys.stdout.flush()
        await asyncio.Event().wait()

    def names(self) -> list[str]:
        return ["tester"]

    async def retention(self, agent: str) -> RetentionSettings:
        return RetentionSettings()

    async def get(self, agent: str) -> Any:
        return self


async def main() -> None:
    """Work until killed."""
    async with open_memory_store(os.environ["DATABASE_URL"], word_model()) as store:
        await asyncio.wait([Worker(store, Hanging())._task])


if __name__ == "__main__":
    asyncio.run(main())
