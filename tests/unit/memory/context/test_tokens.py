"""Counting tokens without a tokenizer: near the largest of five that are in use, and never less for the parts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from react_mem.memory.llm.budget import count_tokens, cut_to, message_tokens

SAMPLES: dict[str, Any] = json.loads((Path(__file__).parent / "token_samples.json").read_text(encoding="utf-8"))
"""Texts with the most tokens that cl100k, o200k, Qwen, Tekken or DeepSeek make of them."""

WITHOUT_DIACRITICS = {"vietnamese plain"}
"""Written in the letters of English, it costs more, which letters alone do not tell."""


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_estimate_is_near_the_largest_tokenizer(name: str) -> None:
    counted = count_tokens(SAMPLES[name]["text"]) / SAMPLES[name]["tokens"]
    assert (0.75 if name in WITHOUT_DIACRITICS else 0.88) <= counted <= 1.45


@given(st.lists(st.text(), max_size=8))
def test_the_parts_never_take_less_than_the_whole(parts: list[str]) -> None:
    assert count_tokens("".join(parts)) <= sum(map(count_tokens, parts))


@given(st.text(), st.text())
def test_more_text_never_takes_less(one: str, other: str) -> None:
    assert count_tokens(one + other) >= max(count_tokens(one), count_tokens(other))


@given(st.text(max_size=300), st.integers(0, 100))
def test_what_is_cut_fits_and_not_one_character_more_would(text: str, tokens: int) -> None:
    cut = cut_to(text, tokens)
    assert text.startswith(cut)
    assert count_tokens(cut) <= tokens
    assert cut == text or count_tokens(text[: len(cut) + 1]) > tokens


def test_a_megabyte_is_counted_and_cut_in_no_time() -> None:
    text = "dữ liệu " * 130_000
    started = time.perf_counter()
    assert count_tokens(text) > 300_000
    assert count_tokens(cut_to(text, 5_000)) <= 5_000
    # some 10 ms on a quiet core
    assert time.perf_counter() - started < 1.0


def test_a_message_takes_its_text_its_calls_and_its_frame() -> None:
    plain = message_tokens(HumanMessage("hello there"))
    assert plain > count_tokens("hello there")
    assert message_tokens(HumanMessage([{"type": "text", "text": "hello there"}])) == plain
    assert message_tokens(HumanMessage(["hello there"])) == plain
    call = {"name": "weather", "args": {"city": "Huế" * 100}, "id": "1", "type": "tool_call"}
    assert message_tokens(AIMessage("", tool_calls=[call])) > count_tokens("Huế" * 100)
    assert message_tokens(ToolMessage("sunny", tool_call_id="1")) > message_tokens(HumanMessage("sunny"))


def test_an_image_takes_what_images_take_and_not_what_its_data_would() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}
    assert 500 < message_tokens(HumanMessage([{"type": "text", "text": "what is it?"}, image])) < 5_000
