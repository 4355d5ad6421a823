"""An agent without a language model says what it is once, and that is not remembered, streamed or not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.keyless.talking import USER, Keyless


@pytest.mark.parametrize("streamed", [True, False])
async def test_what_it_says_of_itself_is_not_remembered(streamed: bool) -> None:
    keyless = Keyless()
    asked: Any = {"messages": [{"role": "user", "content": "Where do I live?"}]}
    given: Any = {"context": {"user_id": USER}, "config": {"configurable": {"thread_id": "1"}}}
    if streamed:
        pieces = [piece.text async for piece, _ in keyless.agent.astream(asked, stream_mode="messages", **given)]
        assert len(pieces) > 5
        said = "".join(pieces)
    else:
        said = (await keyless.agent.ainvoke(asked, **given))["messages"][-1].text
    assert said.startswith("[extractive: ")
    held = await keyless.everything()
    assert "I do not remember anything about that." in held
    assert "extractive" not in held
