"""The weights of the arms, fitted anew: what is fitted, what is held out, and how much a data set counts."""

from __future__ import annotations

from benchmarks.locomo.fit import ARMS, Candidates, study
from react_mem.memory.model.arms import Arm

WRONG = 10
"""Wrong results of a question: the right one is among the first ten only if it is better than one of them."""


def question(
    conversation: str,
    right: dict[Arm, float],
    wrong: dict[Arm, float],
    *,
    data_set: str = "set",
    evidence: int = 1,
    found: int = 1,
    repeated: bool = False,
) -> Candidates:
    """Return a question with right results, one by default, behind `WRONG` others where they score the same."""
    parts = [[result.get(arm, 0.0) for arm in ARMS] for result in [*[wrong] * WRONG, *[right] * found]]
    return Candidates(
        conversation=conversation,
        data_set=data_set,
        evidence=evidence,
        parts=parts,
        right=[False] * WRONG + [True] * found,
        behind=[False] * WRONG + [repeated] * found,
    )


def needs(arm: Arm, conversation: str, **options: object) -> Candidates:
    """Return a question that an arm answers, if it counts three times as much as shipped."""
    return question(conversation, {Arm.LEXICAL: 1.0, arm: 0.2}, {Arm.LEXICAL: 1.5}, **options)  # type: ignore[arg-type]


def misled_by(arm: Arm, conversation: str, **options: object) -> Candidates:
    """Return a question that an arm finds wrong answers to, unless it counts half of what is shipped."""
    return question(conversation, {Arm.LEXICAL: 1.5}, {Arm.LEXICAL: 1.0, arm: 0.8}, **options)  # type: ignore[arg-type]


def test_an_arm_that_finds_is_weighed_more_and_one_that_misleads_less() -> None:
    rows = study(
        [
            found
            for conversation in ("a", "b")
            for found in (needs(Arm.SPEAKER, conversation), misled_by(Arm.TIME, conversation))
        ]
    )
    assert rows["shipped"] == {"recall@10": 0.0, "all_evidence@10": 0.0}
    assert rows["fitted"] == rows["held_out"] == {"recall@10": 1.0, "all_evidence@10": 1.0}
    assert rows["multipliers"][Arm.SPEAKER] > 2.5
    assert rows["multipliers"][Arm.TIME] < 0.625
    assert Arm.LEXICAL not in rows["multipliers"]


def test_what_is_held_out_is_judged_by_weights_that_do_not_know_it() -> None:
    rows = study([needs(Arm.WINDOW, "a"), misled_by(Arm.WINDOW, "b")])
    assert rows["fitted"]["recall@10"] == 0.5
    assert rows["held_out"]["recall@10"] == 0.0


def test_a_data_set_counts_as_much_as_a_larger_one() -> None:
    large = [misled_by(Arm.TIME, f"large {number}", data_set="large") for number in range(3)]
    small = needs(Arm.TIME, "small", data_set="small", evidence=2, found=2)
    rows = study([*large, small])
    # it is worth a little more, because several turns hold its answer
    assert rows["fitted.small"] == {"recall@10": 1.0, "all_evidence@10": 1.0, "recall@10.several_turns": 1.0}
    assert rows["fitted.large"] == {"recall@10": 0.0, "all_evidence@10": 0.0}
    assert rows["fitted"] == {"recall@10": 0.5, "all_evidence@10": 0.5, "recall@10.several_turns": 1.0}


def test_a_question_that_several_turns_answer_is_worth_more_whatever_its_kind() -> None:
    one, several = misled_by(Arm.TIME, "a"), needs(Arm.TIME, "b", evidence=2, found=2)
    rows = study([one, several])
    assert rows["fitted"] == {"recall@10": 0.5, "all_evidence@10": 0.5, "recall@10.several_turns": 1.0}


def test_evidence_that_nothing_proposed_is_missed_under_any_weights() -> None:
    rows = study([question(name, {Arm.LEXICAL: 2.0}, {}, evidence=2) for name in ("a", "b")])
    assert rows["fitted"] == {"recall@10": 0.5, "all_evidence@10": 0.0, "recall@10.several_turns": 0.5}


def test_what_repeats_something_better_stays_behind_it() -> None:
    rows = study([question(name, {Arm.LEXICAL: 2.0}, {}, repeated=True) for name in ("a", "b")])
    assert rows["shipped"]["recall@10"] == rows["fitted"]["recall@10"] == 0.0


def test_a_question_that_finds_nothing_is_counted() -> None:
    nothing = Candidates("a", "set", evidence=1, parts=[], right=[], behind=[])
    rows = study([nothing, question("b", {Arm.LEXICAL: 2.0}, {})])
    assert rows["shipped"]["recall@10"] == 0.5
