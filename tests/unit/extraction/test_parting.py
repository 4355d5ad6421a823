"""Which words of the user's a fact is kept in, where they say several things or ask something besides."""

from __future__ import annotations

from typing import Any

import pytest

from react_mem.memory.write.extraction.parting import divided, without_asking
from tests.support.labels import fact, proposal
from tests.unit.extraction.judging import Said, judged


def texts(said: Said | str, *labels: dict[str, Any]) -> list[str]:
    """Return the facts that labels come to."""
    return [operation.text for operation in judged(said, proposal(list(labels))).ops]


@pytest.mark.parametrize(
    ("clause", "sentence", "kept"),
    [
        ("my shift starts at 3 which bread keeps longest", "User's shift starts at 3.", "my shift starts at 3"),
        ("Holger hasst Honig kannst du mir was empfehlen", "Holger hasst Honig.", "Holger hasst Honig"),
        ("nha em o Thu Duc co app nao nghe sach khong", "Nhà người dùng ở Thủ Đức.", "nha em o Thu Duc"),
        ("我在苏州做程序员有什么地方可以带狗去", "用户在苏州做程序员。", "我在苏州做程序员"),
        ("最近膝が痛くて走れないおすすめの運動教えて", "ユーザーは最近膝が痛くて走れない。", "最近膝が痛くて走れない"),
    ],
)
def test_what_is_asked_behind_a_statement_is_no_part_of_it(clause: str, sentence: str, kept: str) -> None:
    assert without_asking(clause, sentence) == kept
    assert texts(clause, fact(1, sentence)) == [kept]


def test_a_part_keeps_a_word_that_both_sentences_have_and_a_shortened_one() -> None:
    said = "tengo dos gatos pero mi novio Facu es alérgico"
    sentences = ["El usuario tiene dos gatos.", "Facu, el novio del usuario, es alérgico a los gatos."]
    assert divided(said, sentences) == ["tengo dos gatos", "pero mi novio Facu es alérgico"]
    said = "im training for a race in aug oh and im coeliac"
    assert divided(said, ["User trains for a race in August.", "User is coeliac."]) == [
        "im training for a race in aug",
        "oh and im coeliac",
    ]


@pytest.mark.parametrize(
    ("said", "labels", "kept"),
    [
        (
            "haben nen Garten in Leipzig und ne Katze, Frau Schröder heißt die",
            [
                fact(1, "Der Nutzer hat einen Garten in Leipzig."),
                fact([1, 2], "Der Nutzer hat eine Katze, Frau Schröder."),
            ],
            ["haben nen Garten in Leipzig", "und ne Katze, Frau Schröder heißt die"],
        ),
    ],
)
def test_a_fact_that_begins_in_the_clause_of_another_keeps_its_beginning(
    said: str, labels: list[dict[str, Any]], kept: list[str]
) -> None:
    assert texts(said, *labels) == kept


def test_an_answer_that_is_told_from_what_follows_is_kept_as_what_it_says() -> None:
    said: Said = [("assistant", "¿A Nico le gustan los videojuegos?"), ("user", "no pero es fan del Betis")]
    labels = [fact(1, "A Nico no le gustan los videojuegos."), fact(1, "Nico es fan del Betis.")]
    assert texts(said, *labels) == ["A Nico no le gustan los videojuegos.", "pero es fan del Betis"]


@pytest.mark.parametrize(
    ("known", "said", "relation"),
    [
        ("Wir sind zu Hause fünf Personen mit einem Bad", "Bei 5 Leuten mit dem Bad ist es eng", "same"),
        ("妻と娘二人の四人家族です", "うちは4人家族なんだけど", "same"),
        ("Wir sind zu Hause fünf Personen mit einem Bad", "Bei 6 Leuten mit dem Bad ist es eng", "new"),
    ],
)
def test_a_number_that_a_fact_spells_is_no_new_one(known: str, said: str, relation: str) -> None:
    [operation] = judged(said, proposal([fact(1, said, "same", "f1")]), [known]).ops
    assert operation.relation == relation


@pytest.mark.parametrize(
    ("known", "said", "when"),
    [
        ("Tôi sống ở Đà Nẵng", "Tôi sống ở Đà Nẵng từ tháng 3 năm 2021", "2021-03.."),
        ("我住在顺化", "我从2021年3月住在顺化", "2021-03.."),
    ],
)
def test_since_when_a_fact_holds_is_no_number_of_its_own(known: str, said: str, when: str) -> None:
    [operation] = judged(said, proposal([fact(1, said, "same", "f1", when=when)]), [known]).ops
    assert operation.relation == "same"
