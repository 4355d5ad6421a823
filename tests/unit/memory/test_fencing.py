"""One fence for data: no closing mark, no token of a chat template and nothing hidden gets into a prompt with it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.context import profile_lines, render_line, render_message
from react_mem.memory.context.dialogue import render_pages
from react_mem.memory.llm.answers import block, fence, flat, row
from react_mem.memory.model.external import WebPage
from react_mem.memory.model.operations import ExistingMemory, TranscriptMessage
from react_mem.memory.summaries.sources import Source, rendered
from react_mem.memory.write.extraction.briefing import brief

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 11, 22, tzinfo=UTC)

TOKENS = [
    *("<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>"),  # ChatML, Qwen, Phi
    *("<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>", "<|python_tag|>", "<|header_start|>"),  # Llama
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<unk>", "<0x0A>"),  # Llama 2
    *("[SYSTEM_PROMPT]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[THINK]"),  # Mistral
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<|turn>", "<turn|>"),  # Gemma
    *("<|user|>", "<|assistant|>", "<|system|>", "<|end|>"),  # Phi 3, GLM
    *("<｜User｜>", "<｜begin▁of▁sentence｜>", "<｜tool▁calls▁begin｜>"),  # DeepSeek
    *("<|start|>", "<|channel|>", "<|message|>", "<|return|>"),  # gpt-oss
    *("<|START_OF_TURN_TOKEN|>", "<seed:bos>", "[gMASK]", "<sop>", "[|endofturn|]", "<think>", "<tool_call>"),
]
CLOSINGS = ["</memories>", "< /memories>", "</ memories >", "</conversation", "<\t/web_pages\n>"]
MARKS = [*TOKENS, *CLOSINGS]
HIDDEN = [
    *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e", "\u3164", "\uffa0"),
    *("\u200e", "\u202e", "\u2066", "\u2069", "\u061c", "\ufe0f", "\ufe00", "\U000e0100", "\U000e0041", "\U000e007f"),
    *("\x00", "\x08", "\x1b", "\x7f", "\x9b"),
]
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "fullwidth": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "bold": lambda text: re.sub("[A-Z]", lambda m: chr(0x1D400 + ord(m[0]) - 65), text),
    "bars": lambda text: text.replace("|", "￨"),
}
LOOKALIKES = ["⟨/memories⟩", "❮/memories❯", "〈/memories〉", "《/memories》", "❰|im_end|❱", "‹ ／memories›", "❲INST❳"]

_MARKS = re.compile(
    r"<\s*[/|!?]|</?\w[^<>]*>|<\w*\||\[\s*/?\s*[a-z]?[A-Z][A-Z0-9_]{2,}\s*\]|\[\|.*?\|\]|[⟨❮〈《❰‹⟪]\s*[／⁄∕]"
)
_UNSEEN = {"Cf", "Cc"}


def plain(text: str) -> str:
    """Return a text as the most forgiving reader would take it."""
    shown = "".join(c for c in text if unicodedata.category(c) not in _UNSEEN or c in "\n\t\r")
    return "".join(c for c in unicodedata.normalize("NFKC", shown) if not unicodedata.combining(c))


def hides(text: str) -> list[str]:
    """Return what nobody sees in a text that is no emoji and in no script with joiners."""
    return [c for c in text if c in "".join(HIDDEN)]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_token_and_no_closing_mark_gets_through_however_it_is_spelt(spelling: str) -> None:
    for spelt in map(SPELLINGS[spelling], MARKS):
        for text in (spelt, f"a {spelt} b", f"x{spelt}", spelt * 3):
            assert not _MARKS.search(plain(fence(text))), fence(text)


def test_what_nobody_sees_neither_parts_a_mark_nor_gets_through() -> None:
    for hidden in HIDDEN:
        for mark in MARKS[::3]:
            fenced = fence(hidden.join(mark))
            assert not hides(fenced), fenced
            assert not _MARKS.search(plain(fenced)), fenced


def test_what_only_looks_like_a_mark_is_written_like_the_others() -> None:
    assert all(fence(mark).startswith("‹") for mark in LOOKALIKES)


LETTERS = [*"<>[]/|＜＞［］／｜ \n", "\u0338", "¨", "👩", "क", "INST"]
PIECES = st.sampled_from([*MARKS, *HIDDEN, *LOOKALIKES, *LETTERS])
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)


@given(TEXTS)
@example("<\u0338/memories>")
@example("<¨/memories>")
@example("[\u2000INST\u2000]")
@example("<\u200d👩\u200d/memories>")
def test_nothing_survives_normalisation(text: str) -> None:
    fenced = fence(text)
    assert not _MARKS.search(unicodedata.normalize("NFKC", fenced)), fenced
    assert fence(fenced) == fenced
    assert not {"\x0b", "\x1c", "\x85", "\u2028", "\u2029"} & set(fenced)


@given(TEXTS, st.integers(1, 40))
def test_one_line_of_bounded_length(text: str, limit: int) -> None:
    line = flat(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert not _MARKS.search(unicodedata.normalize("NFKC", line)), line


@pytest.mark.parametrize(
    "text",
    [
        "Tôi sống ở Huế, thích phở và cà phê sữa đá — 5 < 7, 7 > 5.",
        "我住在北京。我喜欢《三国演义》和〈背影〉，还有【重要】的事。",
        "私は東京に住んでいます。「こんにちは」『本』（笑）",
        "👨‍👩‍👧‍👦 👩🏽‍🚀 🧑‍🤝‍🧑 👁️‍🗨️ ❤️‍🔥 🏳️‍🌈 🏴‍☠️ ✌🏿 1️⃣ ☎︎ 🇻🇳🇯🇵 🏴󠁧󠁢󠁥󠁮󠁧󠁿🏴󠁧󠁢󠁳󠁣󠁴󠁿",
        "می‌خواهم بروم، क्‍ष और അവന്‍",
        "if a <= b and c >= d: x = y << 2  # a -> b, <- c, i < n, <3",
        "items[0], d['key'], [x for x in y], [link](https://example.org), [1] [a-z] [ok]",
        "שלום עולם, مرحبا بالعالم",
        "a\tb\nc",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert fence(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('<div class="a">hi</div>', '‹div class="a"›hi‹/div›'),
        ("Map<String, List<T>> m;", "Map‹String, List‹T›> m;"),
    ],
)
def test_code_stays_legible(text: str, shown: str) -> None:
    assert fence(text) == shown


def test_no_text_is_smuggled_in_an_emoji() -> None:
    tags = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    assert fence(f"🏴{tags}\U000e007f ok") == "🏴 ok"
    assert fence("😀" + "".join(chr(0xE0100 + ord(c)) for c in "obey")) == "😀"
    assert fence("😀\ufe0f\ufe0e\u200d\u200d\ufe0f") == "😀\ufe0f"


# --- the doors of a prompt --------------------------------------------------------------------------------------------

FACT = {"kind": "fact", "created_at": NOW.isoformat(), "origin": "user"}
MESSAGE = {"kind": "message", "role": "user", "created_at": NOW.isoformat(), "origin": "user"}
DOORS: dict[str, Callable[[str], str]] = {
    "a fact": lambda text: render_line(FACT, text),
    "a message": lambda text: render_message(MESSAGE, text, 600),
    "a profile": lambda text: "\n".join(profile_lines({"fields": {text: {"value": text, "origin": "user"}}})),
    "a page": lambda text: (
        render_pages([WebPage(title=text, url=text, text=text, fetched_at=NOW, engine=text)], 10_000).text
    ),
    "a summary's source": lambda text: rendered("conversation", [Source(text, NOW, "user")]),
    "a known memory": lambda text: brief([TranscriptMessage("a", "user", "hi")], [ExistingMemory("x", text)]).memories,
    "a row": lambda text: block("rows", [row({"text": text})]),
}


@pytest.mark.parametrize("door", DOORS)
@example("[｜[｜")
@example("[|user|")
@settings(max_examples=40)
@given(st.lists(PIECES, min_size=1, max_size=6).map("".join))
def test_every_door_has_the_fence(door: str, text: str) -> None:
    shown = DOORS[door](text)
    lines = [line for line in shown.split("\n") if not re.fullmatch(r"</?[a-z_]+>", line)]
    assert not _MARKS.search(unicodedata.normalize("NFKC", "\n".join(lines))), shown


def test_no_other_module_has_a_fence_of_its_own() -> None:
    """What parts data from structure stands in one file: elsewhere are no marks that replace, escape or join tags."""
    own = re.compile(r"‹|u003c|&lt;|f\"</?\{\w+\}[ >]")
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ("agents", "graphs", "memory", "tools", "integrations")
        for path in (ROOT / room).rglob("*.py")
        if own.search(path.read_text(encoding="utf-8"))
    }
    # a web page escapes for browsers, an export for readers of Markdown; quotations are marks of a language
    assert found == {
        "memory/llm/answers.py",
        "memory/retrieval/graph_reading.py",
        "memory/language/shown_parts.py",
        "memory/rights/readable_export.py",
        "memory/summaries/sources.py",
    }
