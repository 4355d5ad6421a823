"""Which tools belong together."""

from __future__ import annotations

from react_mem.memory.model.records import record_id
from react_mem.memory.model.states import StepExperience
from react_mem.tools.routing.router import Relations, what_followed
from react_mem.tools.routing.routes import Route


def steps(turn: str, *tools: str, failed: str = "") -> list[StepExperience]:
    return [
        StepExperience(
            id=record_id("experience", turn, str(place)),
            text=tool,
            task_type="",
            tool=tool,
            input={},
            output="",
            error="no" if tool == failed else "",
            success=tool != failed,
            session_id="1",
            agent_id="a",
            source_ids=(turn,),
        )
        for place, tool in enumerate(tools)
    ]


ROUTES = [
    Route("search", "Search."),
    Route("book", "Book it. It costs.", after=("search", "gone")),
    Route("pay", "Pay.", requires=("login",)),
    Route("login", "Log in.", requires=("code",)),
    Route("code", "Send a code."),
    Route("mail", "Mail."),
]


def test_what_followed_what_is_counted_within_a_turn() -> None:
    taken = [*steps("t1", "search", "pay", "pay", "mail"), *steps("t2", "search", "pay"), *steps("t3", "mail")]
    assert what_followed(taken) == {"search": {"pay": 2}, "pay": {"mail": 1}}


def test_a_step_that_failed_leads_nowhere() -> None:
    assert what_followed(steps("t1", "search", "pay", "mail", failed="pay")) == {}


def test_what_a_tool_requires_comes_with_all_that_needs() -> None:
    assert Relations(ROUTES).required(["pay"]) == ["login", "code"]


def test_a_circle_of_requirements_ends() -> None:
    circle = [Route("a", "", requires=("b",)), Route("b", "", requires=("a",))]
    assert set(Relations(circle).required(["a"])) <= {"a", "b"}


def test_partners_are_declared_or_learnt_in_both_directions() -> None:
    relations = Relations(ROUTES)
    assert relations.partners("search", {}) == ["book"]
    assert relations.partners("book", {}) == ["search"]
    assert relations.partners("search", {"search": {"pay": 3, "mail": 1}}) == ["pay", "book"]
    assert relations.partners("pay", {"search": {"pay": 3}}) == ["search"]


def test_tools_that_there_are_no_more_are_no_partners() -> None:
    assert Relations(ROUTES).partners("mail", {"mail": {"gone": 5}, "gone": {"mail": 5}}) == []


def test_suggestions_are_what_comes_next_and_say_why() -> None:
    [first, second] = Relations(ROUTES).suggestions(["search"], {"search": {"pay": 3}}, 5)
    assert (first.tool, first.after, first.times) == ("pay", "search", 3)
    assert (second.tool, second.text, second.times) == ("book", "Book it.", 0)


def test_what_is_done_anyway_is_not_suggested() -> None:
    assert Relations(ROUTES).suggestions(["search", "book"], {}, 5) == []
