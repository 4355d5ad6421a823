"""What proves that a step is done: whole clauses of the user or of a tool, each for one step."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from react_mem.memory.reflect.tasks.planning import Plan, TaskEvidence, evidence_in, parse, proven
from react_mem.memory.reflect.tasks.task_store import Step, TaskGraph


def plan(*quotes: str, tool: str = "") -> Plan:
    """Return a plan that reports a step as done for each quote."""
    rows = [
        {"id": str(number), "description": f"step {number}", "status": "done", "proof": quote, "tool": tool}
        for number, quote in enumerate(quotes, 1)
    ]
    return parse({"goal": "all", "goes_on": True, "steps": rows}, {"book"})


def done(made: Plan, *evidence: TaskEvidence, known: TaskGraph | None = None) -> list[str]:
    found, _ = proven(made, known, evidence, {})
    return [step.id for step in found.graph.steps if step.status == "done"]


def user(text: str) -> TaskEvidence:
    return TaskEvidence("1", text, by_user=True)


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("I signed the lease.", "i signed  the lease"),
        ("Hello! I signed the lease. Thanks.", "I signed the lease."),
        ("I signed the lease and packed the boxes", "I signed the lease and packed the boxes"),
        ("I signed the lease today, and then I packed the boxes", "and then I packed the boxes"),
        ("我昨天下午签了合同，然后收拾了所有的箱子。", "我昨天下午签了合同"),
        ("Ayer firmé el contrato, y luego hice las maletas.", "Ayer firmé el contrato"),
        ("I signed the lease, what is next?", "I signed the lease"),
        (unicodedata.normalize("NFD", "Tôi ký hợp đồng rồi."), "Tôi ký hợp đồng rồi"),
        ("我签了合同。", "我签了合同"),
    ],
)
def test_whole_clauses_of_the_user_prove_a_step(said: str, quote: str) -> None:
    assert done(plan(quote), user(said)) == ["1"]
    assert done(plan(quote, tool="book"), user(said)) == ["1"]


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("I have not signed the lease yet.", "signed the lease"),
        ("I have not signed the lease yet.", "signed the lease yet."),
        ("I have not signed the lease yet.", "I have"),
        ("I signed the lease and packed the boxes", "packed the boxes"),
        ("Did I sign the lease?", "Did I sign the lease"),
        ("Tôi ký hợp đồng chưa?", "Tôi ký hợp đồng"),
        ("我没有签合同。", "签合同"),
        ("I signed the lease.", "I signed the lease today."),
        ("I signed the lease.", ""),
        ("I signed the lease.", "..."),
        ("word " * 600 + "is not true", "word " * 399 + "word"),
    ],
)
def test_part_of_a_clause_a_question_and_words_that_nobody_said_prove_nothing(said: str, quote: str) -> None:
    found, taken = proven(plan(quote), None, [user(said)], {})
    assert found.graph.steps[0].status == "pending"
    assert found.repairs == ("nothing shows that step 1 is done",)
    assert not any(taken.values())


def test_a_stretch_of_words_proves_one_step_and_only_once() -> None:
    said = [user("I signed the lease. I packed the boxes. I signed the lease.")]
    found, taken = proven(plan("I signed the lease", "I signed the lease", "I signed the lease"), None, said, {})
    assert [step.status for step in found.graph.steps] == ["done", "done", "pending"]
    again, _ = proven(plan("I signed the lease", "I packed the boxes"), None, said, taken)
    assert [step.status for step in again.graph.steps] == ["pending", "done"]


def test_a_tools_result_proves_no_step_that_a_tool_takes() -> None:
    result = TaskEvidence("1", "VN123 leaves at nine.", by_user=False)
    assert done(plan("VN123 leaves at nine."), result) == ["1"]
    assert done(plan("VN123 leaves at nine.", tool="book"), result) == []
    # neither where the planner leaves its tool out
    for known in (Step("1", "Book it", tool="book"), Step("9", "step 1", tool="book")):
        assert done(plan("VN123 leaves at nine."), result, known=TaskGraph("all", (known,))) == []


def test_what_was_done_before_needs_no_proof_again_but_another_step_of_its_id_does() -> None:
    assert done(plan(""), known=TaskGraph("all", (Step("7", "Step 1.", status="done"),))) == ["1"]
    assert done(plan(""), known=TaskGraph("all", (Step("1", "Something else", status="done"),))) == []


def test_neither_the_agents_words_nor_an_error_are_evidence() -> None:
    said = [
        HumanMessage("a", id="1"),
        AIMessage("b", id="2"),
        ToolMessage("c", id="3", tool_call_id="x"),
        ToolMessage("d", id="4", tool_call_id="y", status="error"),
    ]
    assert evidence_in(said) == [TaskEvidence("3", "c", by_user=False), TaskEvidence("1", "a", by_user=True)]


def test_a_message_is_read_once_for_all_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noting(text: str) -> list[str]:
        read.append(text)
        return [text]

    monkeypatch.setattr("react_mem.memory.reflect.tasks.planning.sentences", noting)
    assert done(plan(*(f"quote {number}" for number in range(20))), user("I signed the lease."), user("And?")) == []
    assert len(read) == 2


words = st.lists(st.sampled_from(["I", "not", "signed", "it", "and", ",", ".", "?", "ký", "rồi"]), max_size=12)


@given(said=words, quotes=st.lists(words.map(" ".join), min_size=1, max_size=4))
def test_the_stretches_that_prove_are_what_was_quoted_and_do_not_overlap(said: list[str], quotes: list[str]) -> None:
    text = " ".join(said)
    found, taken = proven(plan(*quotes), None, [user(text)], {})
    spoken = re.findall(r"\w+", text.casefold())
    spans = sorted(taken.get("1", []))
    claimed = [re.findall(r"\w+", found.proofs[s.id].casefold()) for s in found.graph.steps if s.status == "done"]
    assert sorted(claimed) == sorted(spoken[begin:end] for begin, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
