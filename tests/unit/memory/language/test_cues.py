"""What the phrases of a language's file do: each is found in its language, and only where it is meant."""

from __future__ import annotations

import pytest

from react_mem.memory.index.entries import says_i
from react_mem.memory.language.statements import asks_about_the_past
from react_mem.memory.reflect.task_store import asks_to_go_on, meant
from react_mem.memory.summaries.summarise import read_summary


@pytest.mark.parametrize(
    ("text", "is_first_person"),
    [
        ("It's my cat", True),
        ("The cat sleeps", False),
        ("Tôi có mèo", True),
        ("Trời tối rồi", False),
        ("猫在睡觉", False),
        ("私は猫を飼っています", True),
    ],
)
def test_who_speaks_of_themselves(text: str, is_first_person: bool) -> None:
    assert says_i(text) is is_first_person


@pytest.mark.parametrize(
    ("question", "is_past"),
    [
        ("Where did I live before?", True),
        ("Trước đây tôi sống ở đâu?", True),
        ("長跑之前吃什么好？", False),
        ("以前はどこに住んでいましたか", True),
        ("三日前に何をした？", False),
    ],
)
def test_what_was_true_before(question: str, is_past: bool) -> None:
    assert asks_about_the_past(question) is is_past


@pytest.mark.parametrize(
    ("request_", "goes_on"),
    [
        ("Continue where we stopped, please.", True),
        ("Tiếp tục việc đang dở nhé", True),
        ("昨日の仕事の続きをお願いします", True),
        ("我的膝盖一直疼", False),
    ],
)
def test_who_wants_to_go_on(request_: str, goes_on: bool) -> None:
    assert asks_to_go_on(request_) is goes_on


def test_what_to_go_on_with_is_told_in_any_language() -> None:
    goals = ["预订去顺化的机票", "写季度报告"]
    assert meant("继续写季度报告", goals) == 1
    assert meant("レポートの続き", ["旅行の予約", "レポートを書く"]) == 1


@pytest.mark.parametrize(
    "answer",
    ["Here is the summary: An has a cat.", "Tóm tắt: An has a cat.", "摘要：An has a cat.", "要約：An has a cat."],
)
def test_a_summary_loses_its_label(answer: str) -> None:
    assert read_summary(answer) == "An has a cat."
