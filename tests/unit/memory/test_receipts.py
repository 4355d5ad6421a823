"""What is looked at after something was forgotten, and what is said where it cannot be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memory import portability, receipts
from memory.facade import MemoryFacade
from memory.forgetting import forget_said


async def test_what_takes_too_long_to_look_at_is_told_and_the_rest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = MemoryFacade(InMemoryStore())
    await memory.semantic.add(["I like green tea"], user_id="ann", session_id="s", agent_id="a")

    async def hanging(*_arguments: Any) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    monkeypatch.setattr(receipts, "_PATIENCE", 0.2)
    monkeypatch.setattr(portability, "export_user", hanging)
    done = await forget_said(memory.store, "ann", "I like green tea")
    assert done.texts == ("I like green tea",)
    assert "export: TimeoutError" in done.receipt.problems
    assert await memory.semantic.history(user_id="ann") == []
