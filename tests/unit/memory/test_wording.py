"""Words compared without a language's rules."""

from __future__ import annotations

import pytest

from react_mem.memory.language.comparison import Vocabulary, missing, share


@pytest.mark.parametrize(
    ("one", "other"),
    [("living", "livings"), ("Reise", "Reisen"), ("Đà", "da"), ("ＡＢＣ", "abc")],
)
def test_forms_of_one_word(one: str, other: str) -> None:
    assert one in Vocabulary([other])
    assert other in Vocabulary([one])


@pytest.mark.parametrize(("one", "other"), [("car", "care"), ("12345", "123456"), ("general", "generation")])
def test_words_of_their_own(one: str, other: str) -> None:
    assert one not in Vocabulary([other])
    assert other not in Vocabulary([one])


@pytest.mark.parametrize(
    ("text", "known", "left"),
    [
        ("User lives in Hanoi", "Tôi ở Hà Nội, I live here", []),
        ("User lives in Rome", "I live in Oslo", ["rome"]),
        ("住在河内", "我住在顺化", ["河", "内"]),
        ("the and of", "I live in Oslo", []),
    ],
)
def test_words_that_are_missing(text: str, known: str, left: list[str]) -> None:
    assert missing(text, [known]) == left


def test_a_text_without_content_has_no_share() -> None:
    assert share("the and of", ["the and of"]) == 0
    assert Vocabulary([]).share("tea") == 0


def test_forms_of_a_name_are_closer() -> None:
    assert "Hanover" in Vocabulary(["I live in Hanoi"])
    names = Vocabulary(["I live in Hanoi and speak Japanese"], names=True)
    assert "Hanover" not in names
    assert all(name in names for name in ("Hanoi", "Hanois", "Japan"))
