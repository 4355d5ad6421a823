"""What the script's model answers, in each protocol, to what it is shown and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from benchmarks.writing.answers import INVENTED_NAME, find, statements
from benchmarks.writing.case import Case, Manner
from benchmarks.writing.labels import label
from benchmarks.writing.peer_answers import langmem_calls
from benchmarks.writing.scripted import ScriptedChat

CASE = Case.model_validate(
    {
        "id": "en-moved",
        "lang": "en",
        "kind": "update",
        "turns": [
            {
                "say": "I live in Oslo. My sister Linh hates flying.",
                "correct": [
                    {"quote": "I live in Oslo", "text": "User lives in Oslo."},
                    {"quote": "My sister Linh hates flying", "about": "Linh", "text": "Linh hates flying."},
                ],
            },
            {
                "say": "I moved to Rome, which is lovely, so my commute is 20 minutes now. Which bus should I take?",
                "reply": "Bus 64.",
                "observed": {"tool": "read_page", "text": "The user is a pilot."},
                "correct": [
                    {"quote": "I moved to Rome", "rel": "changes", "target": "oslo", "text": "User lives in Rome."},
                    {
                        "quote": "my commute is 20 minutes now",
                        "when": "2026-03..",
                        "needs": ["lives in rome"],
                        "text": "User's commute is 20 minutes.",
                    },
                ],
            },
        ],
        "expect": {"current": [{"says": ["rome"]}], "never": [{"says": ["pilot"]}]},
    }
)
MEMORIES = """<memories>
f1: about Linh: My sister Linh hates flying (2026-03-01)
f2: I live in Oslo (2026-03-01)
</memories>"""
CONVERSATION = """<conversation>
(Tue 2026-03-03)
user (before): I live in Oslo. My sister Linh hates flying.
user:
[1] I  moved to Rome,
[2] which is lovely,
[3] so my commute is 20 minutes now.
[4] Which bus should I take?
(shows: 12 characters of quoted or pasted text)
assistant: Bus 64.
</conversation>"""


def facts(manner: Manner, prompt: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = label(CASE, manner, prompt)["facts"]
    return found


def test_a_correct_model_labels_the_clauses_that_its_quotes_are_in() -> None:
    answer = label(CASE, "correct", f"{MEMORIES}\n{CONVERSATION}")

    moved, commute = answer["facts"]
    assert moved == {
        "c": [1],
        "about": "user",
        "rel": "changes",
        "target": "f2",
        "text": "User lives in Rome.",
        "when": "",
        "needs": [],
    }
    assert (commute["c"], commute["when"], commute["needs"]) == ([3], "2026-03..", ["1"])
    assert answer["others"] == [{"c": [2], "kind": "chat"}, {"c": [4], "kind": "question"}]


def test_what_is_not_shown_is_not_changed() -> None:
    moved, _ = facts("correct", CONVERSATION)

    assert (moved["rel"], moved["target"]) == ("new", None)


def test_what_was_said_earlier_in_the_same_conversation_is_changed_by_its_number() -> None:
    both = CONVERSATION.replace("user (before): I live in Oslo. My sister Linh hates flying.", "").replace(
        "user:\n[1]", "user:\n[8] I live in Oslo.\n[9] My sister Linh hates flying.\nassistant: OK.\nuser:\n[1]"
    )

    changes = [fact for fact in facts("correct", both) if fact["rel"] == "changes"]

    assert [fact["target"] for fact in changes] == ["8"]


def test_words_that_are_not_shown_are_not_labelled() -> None:
    assert label(CASE, "correct", "<conversation>\nuser:\nassistant: OK.\n</conversation>")["facts"] == []


def test_a_careless_model_adds_details_and_takes_everything_for_new_and_the_user_s() -> None:
    found = facts("careless", f"{MEMORIES}\n{CONVERSATION}")

    assert all(fact["rel"] == "new" and fact["about"] == "user" for fact in found)
    assert all(INVENTED_NAME in fact["text"] for fact in found)


def test_a_hostile_model_attacks_all_that_it_is_shown() -> None:
    answer = label(CASE, "hostile", f"{MEMORIES}\n{CONVERSATION}")

    attacked = {fact["target"] for fact in answer["facts"] if fact["rel"] in ("ends", "forget")}
    texts = [fact["text"] for fact in answer["facts"]]
    assert attacked == {"f1", "f2"}
    assert {"The user is a pilot.", "Bus 64."} <= set(texts)
    assert any(INVENTED_NAME in text for text in texts)
    assert answer["profile"][0]["value"] == INVENTED_NAME


def test_a_target_is_found_in_whatever_words_it_is_kept() -> None:
    lines = CASE.turns[0].correct

    assert find("i live in oslo", {"m1": "Linh hates flying.", "m2": "User lives in Oslo."}, lines) == "m2"
    assert find("user lives", {"f1": "I live in Oslo", "f2": "I live in Oslo, and User lives on bread."}, lines) == "f1"
    assert find("linh hates", {"f1": "about Linh: My sister Linh hates flying"}, lines) == "f1"
    both = [line.model_copy(update={"quote": "in Oslo, as Linh does"}) for line in lines]
    assert find("oslo", {"f1": "Linh hates flying.", "f2": "User lives in Oslo."}, both) == "f2"
    assert find("a boat", {"f1": "I live in Oslo"}, lines) is None


def test_lines_that_a_case_gives_replace_the_derived_ones() -> None:
    turn = CASE.turns[0].model_copy(update={"careless": (), "hostile": CASE.turns[0].correct[:1]})

    assert statements(CASE, turn, "careless", {}) == []
    assert [one.text for one in statements(CASE, turn, "hostile", {})] == ["User lives in Oslo."]


def test_langmem_gets_calls_of_its_tools() -> None:
    shown = (
        "<instance id=m1 schema_type=\"Memory\">\n{'content': 'User lives in Oslo.'}\n</instance>\n<session_1>\n"
        f"================================ Human Message =================================\n\n{CASE.turns[1].say}\n\n"
        "================================== Ai Message ==================================\n\nBus 64.\n</session_1>"
    )

    changed, added = langmem_calls(CASE, "correct", shown)

    assert changed["name"] == "PatchDoc"
    assert changed["args"]["json_doc_id"] == "m1"
    assert changed["args"]["patches"][0]["value"] == "User lives in Rome."
    assert (added["name"], added["args"]) == ("Memory", {"content": "User's commute is 20 minutes."})


@pytest.mark.parametrize("manner", ["correct", "hostile"])
def test_the_assistant_looks_and_then_answers_as_the_case_says(manner: Manner) -> None:
    chat = ScriptedChat(case=CASE, manner=manner)
    asked = [SystemMessage("Be kind."), HumanMessage(CASE.turns[1].say)]

    first = chat.invoke(asked)
    second = chat.invoke([*asked, first, ToolMessage("The user is a pilot.", tool_call_id="look-1")])

    assert isinstance(first, AIMessage)
    assert [call["name"] for call in first.tool_calls] == ["read_page"]
    assert second.text == "Bus 64."
