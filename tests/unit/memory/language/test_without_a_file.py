"""A language that no file is about: everything works on it, and finds by what all languages have in common."""

from __future__ import annotations

from datetime import datetime

import pytest

from react_mem.memory.index.entries import entries, says_i
from react_mem.memory.index.recall import read_question
from react_mem.memory.language import DEFAULT, denial_of, language_of, length
from react_mem.memory.language.comparison import content_words, names
from react_mem.memory.language.statements import asks_about_the_past
from react_mem.memory.language.terms import content_terms as telling
from react_mem.memory.language.terms import index_terms
from react_mem.memory.language.times import asks_when, named_periods, tells_when, time_of_day
from react_mem.memory.reflect.task_store import asks_to_go_on, meant

NOW = datetime(2024, 5, 15, 12)

TOLD = {
    "ko": ("저는 부산에 살고 커피를 좋아해요.", "제가 좋아하는 커피는 무엇인가요?"),
    "th": ("ฉันชอบดื่มกาแฟตอนเช้า", "ฉันชอบดื่มกาแฟเมื่อไหร่"),
    "ar": ("أعيش في الدار البيضاء", "أين أعيش؟"),
    "fr": ("J'habite à Lyon avec ma sœur.", "Avec qui j'habite à Lyon ?"),
}


@pytest.mark.parametrize(("told", "asked"), TOLD.values(), ids=TOLD)
def test_what_is_told_is_found_by_what_is_asked(told: str, asked: str) -> None:
    assert set(index_terms(told)) & set(index_terms(asked))
    assert {entry.text for entry in entries("text", told, {})} == {told}
    assert {term for term, _ in read_question(asked, NOW).terms} & set(index_terms(told))


@pytest.mark.parametrize(("told", "asked"), TOLD.values(), ids=TOLD)
def test_nothing_is_taken_for_what_a_file_is_about(told: str, asked: str) -> None:
    for text in (told, asked):
        assert language_of(text).code == DEFAULT
        assert denial_of(text) is None
        assert not any(found(text) for found in (says_i, asks_when, tells_when, asks_to_go_on, asks_about_the_past))
        assert named_periods(text, NOW) == ()
        assert time_of_day(text) is None
        assert meant(text, ["book a trip"]) is None
        assert telling(text)
        assert content_words(text)
        assert names(text) <= set(text.replace(".", "").split())
        assert length(text) > 0


def test_what_has_the_form_of_a_date_is_one_in_any_language() -> None:
    (found,) = named_periods("Казань, 2024-03-09?", NOW)
    assert found.start.isoformat() == "2024-03-09"
