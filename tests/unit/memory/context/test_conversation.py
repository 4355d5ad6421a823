"""The part of a thread that is shown word for word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from react_mem.memory.context.dialogue import (
    bounded,
    current_start,
    earlier_turns,
    fit,
    squeezed,
    visible,
)
from react_mem.memory.llm.budget import message_tokens

WHOLE = 8_000


def turn(number: int, steps: int = 1, size: int = 10) -> list[AnyMessage]:
    messages: list[AnyMessage] = [HumanMessage(f"q{number} " + "x" * size, id=f"q{number}")]
    for step in range(steps):
        id_ = f"{number}-{step}"
        call = {"name": "t", "args": {}, "id": f"c{id_}"}
        messages += [AIMessage("", tool_calls=[call], id=f"s{id_}"), ToolMessage("r" * size, tool_call_id=f"c{id_}")]
    return [*messages, AIMessage(f"a{number}", id=f"a{number}")]


def thread(*sizes: tuple[int, int]) -> list[AnyMessage]:
    earlier = [message for number, (steps, size) in enumerate(sizes) for message in turn(number, steps, size)]
    return [*earlier, HumanMessage("and now?", id="now")]


def shown(messages: list[AnyMessage], turns: int | None, tokens: int) -> list[AnyMessage]:
    verbatim = fit(earlier_turns(messages, turns, WHOLE), current_start(messages), tokens)
    return [messages[place] for place in visible(messages, verbatim.first, verbatim.whole)]


@pytest.mark.parametrize(("turns", "first"), [(1, "now"), (3, "q1"), (9, "q0")])
def test_the_latest_turns_are_shown_the_current_one_among_them(turns: int, first: str) -> None:
    assert shown(thread(*[(1, 10)] * 3), turns, 10_000)[0].id == first


def test_a_greeting_belongs_to_the_first_turn() -> None:
    messages: list[AnyMessage] = [AIMessage("welcome", id="hi"), *thread((0, 1), (0, 1))]
    assert shown(messages, 3, 10_000)[0].id == "hi"
    assert shown(messages, 2, 10_000)[0].id == "q1"
    assert shown([AIMessage("welcome", id="hi"), HumanMessage("hello")], 1, 10_000)[0].id == "hi"


sizes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2_000)), max_size=12)


@given(sizes, st.none() | st.integers(1, 8), st.integers(0, 5_000))
def test_what_is_shown_keeps_the_budget_and_every_result_its_call(
    given_: list[tuple[int, int]], turns: int | None, tokens: int
) -> None:
    messages = thread(*given_)
    kept = shown(messages, turns, tokens)
    assert kept[-1] is messages[-1]
    assert sum(map(message_tokens, kept[:-1])) <= tokens
    calls = [call["id"] for message in kept if isinstance(message, AIMessage) for call in message.tool_calls]
    assert calls == [message.tool_call_id for message in kept if isinstance(message, ToolMessage)]
    # whole turns: a question with its answer, the latest without a gap
    said = [message.id for message in kept if message.type == "human" or (message.id or "").startswith("a")]
    numbers = range(len(given_) - len(said) // 2, len(given_))
    assert said == [*(f"{kind}{number}" for number in numbers for kind in "qa"), "now"]


def test_an_earlier_message_is_cut_and_says_so() -> None:
    cut = bounded(HumanMessage("x" * 10_000, id="1"), 500)
    assert cut.id == "1"
    assert cut.text.startswith("x" * 500 + "\n")
    assert "9500 more characters" in cut.text


@pytest.mark.parametrize(("sample", "tokens"), [("word ", 100), ("dữ liệu ", 300), ("😀", 2_000)])
def test_a_message_of_the_current_turn_shows_its_beginning_and_its_end(sample: str, tokens: int) -> None:
    text = f"Read this: {sample * 10_000} What does it say?"
    cut = squeezed(HumanMessage(text, id="1"), tokens)
    assert message_tokens(cut) <= tokens
    assert message_tokens(cut) > tokens * 0.8
    assert cut.text.startswith("Read this:")
    assert cut.text.endswith("it say?")
    assert "characters are left out" in cut.text


def test_of_blocks_the_long_text_is_cut_and_an_image_stays() -> None:
    image: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    cut = squeezed(HumanMessage([{"type": "text", "text": "x" * 100_000}, image]), 200)
    assert cut.content[1] == image
    assert len(cut.text) < 2_000


def test_an_answer_in_blocks_is_cut_like_a_text_and_old_pictures_are_named() -> None:
    answer = AIMessage([{"type": "text", "text": f"{n:>4} " + "x" * 995} for n in range(20)])
    assert bounded(answer, WHOLE).text == bounded(AIMessage(answer.text), WHOLE).text
    assert len(bounded(answer, WHOLE).text) < WHOLE + 200
    picture = {"type": "image", "base64": "iVBORw0KGgo=" * 20_000, "mime_type": "image/png"}
    asked = HumanMessage([{"type": "text", "text": "What is it?"}, picture])
    note = HumanMessage([{"type": "audio", "base64": "aGk=" * 20_000, "transcript": "Buy tea."}])
    assert bounded(asked, WHOLE, media=True) is asked
    assert [block["text"] for block in bounded(asked, WHOLE).content] == ["What is it?", "[image]"]
    assert bounded(note, WHOLE).text == "Buy tea."
