"""Exceptions of tools: told to the model and to the client without secrets, whatever a tool puts into one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import tool

from tests.contract.conftest import Build
from tests.contract.test_loop import ANN, thread
from tests.support.scripted_model import ScriptedModel, calls

SECRET = "hunter2-is-no-password"


async def test_what_a_tool_raises_reaches_nobody_with_its_secrets(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)

    @tool
    def orders() -> str:
        """List the orders."""
        raise RuntimeError(f"cannot reach postgresql://shop:{SECRET}@db/orders with Bearer abc.def, try later")

    model = ScriptedModel(script=[calls(("orders", {})), "sorry"])
    graph = build(model, [orders])
    seen: list[Any] = [
        part
        async for part in graph.astream(
            {"messages": [("user", "my orders?")]}, thread(), context=ANN, stream_mode=["values", "custom", "messages"]
        )
    ]
    assert SECRET not in str(seen)
    assert "abc.def" not in str(seen)
    [told] = [message for message in model.prompts[1] if message.type == "tool"]
    assert "try later" in told.text
    assert "RuntimeError" in told.text
    assert SECRET not in told.text
