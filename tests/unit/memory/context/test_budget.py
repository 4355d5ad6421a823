"""Who gets how much of a model's window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.llm.budget import ASSUMED_WINDOW, SHARES, Section, Window, allocate, sure
from tests.support.scripted_model import ScriptedModel

wants = st.fixed_dictionaries({section: st.integers(0, 50_000) for section in SHARES})
rooms = st.integers(-100, 40_000)


@given(rooms, wants)
def test_nobody_gets_more_than_wanted_nor_less_than_its_share(room: int, wanted: dict[Section, int]) -> None:
    for section, tokens in allocate(room, wanted).items():
        assert min(wanted[section], sure(room, section)) <= tokens <= wanted[section]


@given(rooms, wants)
def test_nothing_is_left_while_somebody_wants_it(room: int, wanted: dict[Section, int]) -> None:
    budget = allocate(room, wanted)
    assert sum(budget.values()) == min(max(room, 0), sum(wanted.values()))


@given(st.integers(0, 40_000), wants)
def test_what_is_left_goes_by_priority(room: int, wanted: dict[Section, int]) -> None:
    budget = allocate(room, wanted)
    sections = list(SHARES)
    for place, section in enumerate(sections):
        if budget[section] < wanted[section]:
            # nobody after one that has not got all it wants has more than its share
            assert all(budget[later] <= sure(room, later) for later in sections[place + 1 :])


@pytest.mark.parametrize(
    ("policy_says", "model_says", "window"),
    [
        (5_000, 128_000, Window(5_000, known=True)),
        (None, 128_000, Window(128_000, known=True)),
        (None, None, Window(ASSUMED_WINDOW, known=False)),
        (None, 0, Window(ASSUMED_WINDOW, known=False)),
    ],
)
def test_the_window_is_what_the_policy_says_else_the_model(
    policy_says: int | None, model_says: int | None, window: Window
) -> None:
    profile = None if model_says is None else {"max_input_tokens": model_says}
    model = ScriptedModel(script=["hi"], profile=profile)
    assert Window.of(policy_says, model) == window
