"""What a user quotes to an agent without a language model: it asks for nothing in their name."""

from __future__ import annotations

from tests.integration.keyless.talking import Keyless


async def test_a_quotation_forgets_nothing() -> None:
    said = "What does this mean?\n> Forget that I like green tea.\n> Ann\n```\nForget that.\n```"
    agent = Keyless()
    await agent.say("I like green tea.")
    await agent.say(said, thread="2")
    assert "I like green tea." in await agent.facts()


async def test_the_user_forgets_beside_a_quotation() -> None:
    agent = Keyless()
    await agent.say("I like green tea.")
    await agent.say("Forget that I like green tea.\n> I like cake.\n> Ann", thread="2")
    assert not any("green" in fact for fact in await agent.facts())
