"""The benchmark of words that a model names what is said by."""

from __future__ import annotations

from benchmarks.topics.__main__ import load_cases, measure
from react_mem.memory.language.comparison import missing


async def test_what_is_said_is_found_by_its_words_and_by_those_that_name_it() -> None:
    cases = load_cases()[:3]
    without, named = [await measure(cases, None, topics=on) for on in (False, True)]
    assert named["recall@1"] == 1.0
    assert without["recall@1"] < named["recall@1"]


def test_no_case_names_what_it_says() -> None:
    for case in load_cases():
        assert missing(case["topic"], [case["said"]]), case["said"]
        assert len(case["topic"].split()) <= 12
