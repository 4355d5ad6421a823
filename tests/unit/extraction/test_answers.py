"""JSON as models really write it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.errors import InvalidOutput
from react_mem.memory.llm.answers import Answer, read_answer
from react_mem.memory.write.extraction.proposal import FIELDS

WHOLE: dict[str, Any] = {
    "facts": [{"c": [1], "text": 'says "hi" {'}, {"c": [2], "rel": "ends", "target": "f1"}],
    "others": [{"c": [3], "kind": "chat"}],
    "profile": [{"field": "name", "value": "Ánh"}],
    "episode": None,
    "summary": "done",
}


def read(text: str, *, broken_off: bool = False) -> Answer | None:
    try:
        return read_answer(text, FIELDS, broken_off=broken_off)
    except InvalidOutput:
        return None


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "Here you are:\n{}\nBye!", "<think>{{no}}</think>\n{}"])
def test_an_object_is_found_in_what_stands_around_it(form: str) -> None:
    answer = read_answer(form.replace("{}", json.dumps(WHOLE), 1), FIELDS)
    assert (answer.payload, answer.leftovers, answer.broken_off) == (WHOLE, 0, False)


@pytest.mark.parametrize(
    "text", ["", "I cannot do that.", "{", '{"facts": [', "[1, 2]", '{"answer": 42}', "{'facts': []}"]
)
def test_an_answer_with_nothing_in_it_has_a_problem(text: str) -> None:
    with pytest.raises(InvalidOutput, match="could not be used: ") as caught:
        read_answer(text, FIELDS)
    assert caught.value.raw == text


def test_what_stands_beside_the_proposal_is_left_over() -> None:
    assert read_answer('{"summary": "a", "ops": [1]}', FIELDS).leftovers == 1
    assert read_answer('{"summary": "a"} {"summary": "b"}', FIELDS) == Answer({"summary": "a"}, 1)


@given(st.integers(min_value=0, max_value=len(json.dumps(WHOLE)) - 1))
def test_wherever_an_answer_breaks_off_its_whole_items_are_kept(cut: int) -> None:
    text = json.dumps(WHOLE)[:cut]
    answer = read(text, broken_off=True)
    kept: list[Any] = answer.payload.get("facts", []) if answer else []
    whole = [item for item in WHOLE["facts"] or [] if json.dumps(item) in text]
    assert kept == whole
    facts_are_whole = '"done"' in text
    assert facts_are_whole != (answer is None or answer.broken_off)
    if facts_are_whole:
        assert answer is not None
        assert answer.leftovers == 0


def test_what_breaks_off_in_another_field_than_the_last_is_told() -> None:
    text = '{"summary": "a", "profile": [], "episode": null, "others": [], "facts": [{"c": [1]}, {"c": [2'
    answer = read_answer(text, FIELDS)
    assert answer.broken_off
    assert answer.leftovers


@pytest.mark.parametrize(
    "value", ["1" * 10_000, "-" + "9" * 5_000, "[" * 100_000, '{"c": ' * 50_000, "1e999999", "NaN"]
)
def test_what_no_reader_takes_costs_only_itself(value: str) -> None:
    answer = read_answer(f'{{"facts": [{{"c": [1]}}], "others": [{{"c": [{value}]}}]}}', FIELDS)
    assert answer.payload["facts"] == [{"c": [1]}]
    assert read(f'{{"facts": [{{"c": [{value}') is None


@given(st.text())
def test_any_text_is_read_or_has_a_problem(text: str) -> None:
    answer = read(text)
    assert answer is None or answer.payload
