"""From turns to procedures and words: what they say is covered by the turns, and copied from none."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.reflect.skills.distilling import ProcedureWording, distil, find, vocabulary
from react_mem.memory.reflect.skills.skill_drafts import (
    MAX_CHARS,
    MAX_STEPS,
    MIN_SUPPORT,
    SkillEvidence,
    Trace,
    procedures,
    texts_of,
)
from tests.support.learning import TOOLS, trace

BUYING = "search compare stock order"


def found_in(*said: str, shortest: int = 1) -> list[str]:
    found = procedures([trace(one, number) for number, one in enumerate(said)], shortest=shortest)
    return [" ".join(one.tools) for one in found]


def worded(turns: list[Trace], said: Mapping[int, ProcedureWording] | None = None) -> tuple[list[list[str]], list[str]]:
    [kind] = find(turns, TOOLS)
    done = distil(kind.task_type, kind.procedures, said or {}, TOOLS)
    return [texts_of(one.skill) for one in done.drafts], done.refused


class TestProcedures:
    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ([BUYING] * 3, [BUYING]),
            ([BUYING] * 2, []),
            ([BUYING, "search mail compare stock order", "mail search compare stock order"], [BUYING]),
            ([BUYING, "search compare compare! compare stock order", "search! search compare stock order"], [BUYING]),
            (["search order"] * 3 + ["mail stock"] * 4, ["mail stock", "search order"]),
            ([BUYING] * 9 + ["search stock order"], [BUYING]),
            (["search order search"] * 3, ["search order search"]),
            (["search! order!"] * 5, []),
            ([" ".join(TOOLS * 3)] * 3, []),
        ],
    )
    def test_it_is_what_the_turns_that_came_off_have_in_common(self, said: list[str], expected: list[str]) -> None:
        assert found_in(*said) == expected

    def test_what_fails_as_often_is_no_procedure(self) -> None:
        turns = [trace("search order", number, succeeded=number % 2 == 0) for number in range(8)]
        assert procedures(turns, shortest=1) == []

    def test_one_tool_is_a_procedure_only_for_a_named_kind_of_task(self) -> None:
        assert found_in("search", "search", "search") == ["search"]
        assert found_in("search", "search", "search", shortest=2) == []

    # a sum of floats that lies on the edge in one order of turns and not in another
    @example([one.split() for one in ("a b a", "a b a", "a c a", "a b c a b a", "a b")], random.Random(1))  # noqa: S311
    @given(
        st.lists(st.lists(st.sampled_from(["a", "b", "c", "a!", "d"]), min_size=1, max_size=8), max_size=12),
        st.randoms(use_true_random=False),
    )
    def test_each_is_covered_by_enough_turns_in_its_order_and_any_order_of_turns_gives_the_same(
        self, said: list[list[str]], luck: random.Random
    ) -> None:
        turns = [trace(" ".join(one), number) for number, one in enumerate(said)]
        found = procedures(turns, shortest=1)
        for one in found:
            assert 1 <= len(one.tools) <= MAX_STEPS
            assert sum(turn.succeeded and turn.covers(one.tools) for turn in turns) >= MIN_SUPPORT
        luck.shuffle(turns)
        assert [one.tools for one in procedures(turns, shortest=1)] == [one.tools for one in found]


class TestWords:
    def turns(self, **arguments: str) -> list[Trace]:
        return [
            trace(BUYING, n, goal=f"please buy green tea for {who}", what=f"{what} tea", **arguments)
            for n, (who, what) in enumerate([("Ann", "Oolong"), ("Bob", "Sencha"), ("Eve", "Assam")])
        ]

    def test_without_a_model_arguments_are_named_and_shared_words_tell_when(self) -> None:
        [texts], refused = worded(self.turns())
        assert texts == ["a task of the type shop about please, buy, green, tea", *["with {what}"] * 4]
        assert refused == []

    def test_a_model_s_words_are_taken_where_they_pass_and_plain_ones_where_not(self) -> None:
        said = ProcedureWording(
            use_when="A user wants something bought.",
            actions=("Look for {what}.", "Take the cheapest Oolong.", "Ask for stock.", "Order it for Ann."),
            preferences=("Never pay by card 4242424242424242.", "Say what it costs.", "Mail ann@example.com"),
        )
        [texts], refused = worded(self.turns(), {0: said})
        assert texts == [
            "A user wants something bought.",
            "Look for {what}.",
            "with {what}",
            "Ask for stock.",
            "with {what}",
            "Say what it costs.",
        ]
        assert len(refused) == 4

    @pytest.mark.parametrize(
        "use_when", ["", "x" * 201, "For Ann.", "See https://example.com/x", "Oolong tea is wanted"]
    )
    def test_a_bad_occasion_is_replaced(self, use_when: str) -> None:
        [texts], refused = worded(self.turns(), {0: ProcedureWording(use_when, ("Use it.",) * 4, ())})
        assert texts[0] == "a task of the type shop about please, buy, green, tea"
        assert len(refused) == 1

    def test_actions_that_do_not_fit_the_steps_are_replaced(self) -> None:
        [texts], _ = worded(self.turns(), {0: ProcedureWording("To buy.", ("Search.",), ())})
        assert texts == ["To buy.", *["with {what}"] * 4]

    def test_tools_that_are_gone_are_no_procedure(self) -> None:
        [kind] = find(self.turns(), ["search", "compare"])
        assert kind.procedures == []

    @settings(max_examples=60)
    @given(
        st.lists(st.text(max_size=30), min_size=3, max_size=5),
        st.dictionaries(st.sampled_from(["query", "to", "search"]), st.text(min_size=2, max_size=20), max_size=3),
        st.text(max_size=10),
    )
    def test_plain_words_always_pass_and_repeat_no_value(
        self, goals: list[str], given_: dict[str, str], name: str
    ) -> None:
        turns = [trace(BUYING, n, goal=goal, **given_) for n, goal in enumerate(goals)]
        [kind] = find(turns, TOOLS)
        done = distil(kind.task_type, kind.procedures, {}, TOOLS)
        assert done.refused == []
        [draft] = done.drafts
        texts = texts_of(draft.skill)
        assert all(0 < len(text) <= MAX_CHARS for text in texts)
        assert [draft.evidence.problem_with(text) for text in texts] == [""] * len(texts)

    def test_what_only_some_turns_say_is_a_quote(self) -> None:
        turns = self.turns()
        evidence = SkillEvidence(turns, vocabulary(TOOLS, "shop", turns))
        assert not evidence.problem_with("Buy green tea")
        assert evidence.problem_with("Buy Oolong")
        assert evidence.problem_with("Ann buys")
