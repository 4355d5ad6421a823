"""A message that was wrapped by a mail program or a terminal is kept, shown and forgotten as if it was not."""

from __future__ import annotations

import pytest

from react_mem.memory.model.records import fact_id
from react_mem.memory.write.remembering import remember
from tests.integration.keyless.talking import USER, Keyless

WRAPPED = "I am allergic to peanuts and to\nshellfish. I do not eat meat,\r\nexcept chicken."
NUTS, MEAT = "I am allergic to peanuts and to shellfish.", "I do not eat meat, except chicken."


@pytest.mark.parametrize("by_rest", [True, False])
async def test_it_is_kept_shown_and_forgotten_by_its_sentences(by_rest: bool) -> None:
    talk = Keyless()
    if by_rest:
        await remember(talk.memory, USER, WRAPPED, agent_id="keyless")
    else:
        await talk.say(WRAPPED)
    assert await talk.facts() == [NUTS, MEAT]
    detail = await talk.memory.explain(USER, fact_id("user", MEAT))
    assert detail is not None
    assert [source.quote for source in detail.provenance] == [MEAT]

    receipt = await talk.memory.forget(USER, detail.memory.id)
    assert not receipt.problems
    assert await talk.facts() == [NUTS]
    left = await talk.everything()
    assert "chicken" not in left
    assert "shellfish" in left


async def test_a_statement_that_is_told_wrapped_and_unwrapped_is_one() -> None:
    memory = Keyless().memory
    assert (await remember(memory, USER, NUTS)).new
    assert not (await remember(memory, USER, NUTS.replace("and to ", "and to\n"))).new
    [zh] = (await remember(memory, USER, "我对花生\n和贝类过敏。")).memories
    assert zh.text == "我对花生和贝类过敏。"


async def test_what_is_asked_behind_a_statement_on_a_line_of_its_own_is_no_part_of_it() -> None:
    talk = Keyless()
    await talk.say("I live in Hue\nwhere should I eat?")
    await talk.say("Forget that I like\ntea.")
    assert await talk.facts() == ["I live in Hue"]
