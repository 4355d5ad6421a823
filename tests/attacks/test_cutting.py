"""Messages that the cutting of clauses stumbles over: they cost their own facts, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from react_mem.memory.language import line_breaks, statements
from tests.integration.keyless.talking import Keyless


@pytest.mark.parametrize("text", [f"I like tea{' ' * 8_000}\nand my dog is called Rex", "\x1c \u200b\n“" * 300])
async def test_an_odd_message_ends_memory_for_nobody(text: str) -> None:
    agent = Keyless()
    await agent.say(text)
    await agent.say("My cat is called Mimi.")
    assert "My cat is called Mimi." in await agent.facts()


async def test_a_mistake_in_cutting_costs_the_facts_of_its_message_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = line_breaks.split_line

    def mistaken(line: str) -> Any:
        if "quagga" in line:
            raise ValueError("my quagga is ill")
        return own(line)

    for module in (line_breaks, statements):
        monkeypatch.setattr(module, "split_line", mistaken)
    agent = Keyless()
    await agent.say("My quagga is called Zoe.")
    await agent.say("My cat is called Mimi.")
    assert await agent.facts() == ["My cat is called Mimi."]
    assert "My quagga" in await agent.everything()
    assert "could not be cut" in caplog.text
    assert "quagga" not in caplog.text
