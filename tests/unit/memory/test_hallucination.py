"""The hallucination check: names and numbers that no source has."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

import pytest

from react_mem.memory.language.hallucination import Told


@pytest.mark.parametrize(
    ("source", "text", "invented"),
    [
        ("I paid 12,500 for 3 cats", "They paid 12500 for three cats, 3 in all", []),
        ("لدي ٣ قطط", "3", []),
        ("Call 0905 123 456", "Phone: 0905-123-456", []),
        ("We meet at 07:30", "They meet at 7:30, on Friday", []),
        ("Tôi ở Hà Nội với chị Lan", "Người dùng ở Hanoi với Lan", []),
        ("I like tea", "Discussed tea. Decided on tea.", []),
        ("我有三只猫", "用户有4只猫", ["4"]),
        ("Tôi sống ở Huế", "Người dùng sống ở Đà Lạt", ["Đà", "Lạt"]),
        ("Vivo en Lima con mi familia desde hace muchos años y trabajo allí.", "El usuario vive en Cusco", ["Cusco"]),
        ("Budget 50", "A budget of 5", ["5"]),
        # few words are forms of one name
        (
            "I live in Hanoi and I am learning Japanese with my friend.",
            "The user has a friend in Hanover, Japan.",
            ["Hanover"],
        ),
        # every German noun has a capital
        (
            "Ich möchte mit dem Zug im Mai eine Reise nach Wien machen und dort ein Museum sehen.",
            "Der Nutzer plant eine Fahrt nach Wien für 90 Euro.",
            ["90"],
        ),
        # one that is shouted has no names
        (
            "I MOVED TO ROME LAST YEAR AND NOW I LIKE IT THERE VERY MUCH",
            "THE USER HAS MOVED HOUSE TO ROME, AND IS GLAD OF IT",
            [],
        ),
    ],
)
def test_what_a_text_invents(source: str, text: str, invented: list[str]) -> None:
    assert Told([source]).invented(text) == invented


def test_a_date_may_be_counted_from_the_day_of_the_message() -> None:
    told = Told(["Friday last week, yesterday and next Tuesday"], [datetime(2026, 11, 20, tzinfo=UTC)])
    assert told.invented("On 2026-11-13, 2026-11-19, 20 November and 2026-11-24") == []
    assert told.invented("On 2026-12-24 there were 13 cats") == ["2026-12-24", "13"]


def test_long_texts_are_read_in_linear_time() -> None:
    def seconds(size: int) -> float:
        return min(once(size) for _ in range(3))  # whatever else runs here makes it longer, never shorter

    def once(size: int) -> float:
        # forms of one word, all of which begin alike
        said = " ".join(f"word{'abcdefghij'[n % 10]}{n}x" for n in range(size))
        begin = process_time()
        Told([said]).held("Wordless sentence number, one of many. " * (size // 10))
        return process_time() - begin

    # ten times as much would take a hundred times as long
    assert seconds(20_000) < 40 * max(seconds(2_000), 0.01)
